# weft_room(NAME DIR folder LINK libraries... [EXCLUDE regex]): one static library from every .c file of a folder whose path
# does not match the regular expression.
#
# Files named *_avx2.c and *_avx512.c are compiled for those levels of src/base/isa.h, *_avx512bf16.c for AVX-512 with that
# extension, everything else for the baseline, so that one binary runs everywhere and picks its kernels at run time.

# Kernels of numbers: loops that are compiled for an instruction set, which takes half of the time to compile the room hal, and
# those of the reference, which take most of the time of a backend's tests. Trees that do not instrument them may link those of
# another tree: with WEFT_KERNELS=FOLDER in the environment when CMake runs, objects of that build folder are taken as they are,
# and its owner keeps them up to date (scripts/test). It is no cached option: whoever configures without it compiles. What is about
# a few files alone says which, WEFT_COMPILED=REGEX, and takes all others and none of these.
set(WEFT_KERNEL_FILES "_(base|avx2|avx512|avx512bf16)\\.c$|/src/hal/ref/")
set(WEFT_NO_KERNEL_FILES "/gnn/data/|/src/table/") # these read files
# What an input of a fuzz target reaches (tests/CMakeLists.txt compares their includes). Its tree takes all else: collectives,
# layers, what divides a graph.
set(WEFT_FUZZED_FILES
  "/(app|base|io|option|machine|graph|table|dense)/|/gnn/(data/|links/link_files)|/partition/(given/|extract/|methods/|part)|/train/checkpoint/|/train/input_moments|/train/second/|/gnn/pyg_names|/comm/(comm|sync/)|/trees/forest/|/embed/rows/|/tune/|/focus/|/clicks/(data/click_(names|bags)|model/click_(net|sizes)|synth/click_spec)|/hal/cpu/sparse/(share_|spmm_shared)")

# out: the files, and in the place of those that are taken their objects.
function(weft_kernels_of_another_tree name files out)
  set(result "")
  foreach(source IN LISTS files)
    file(RELATIVE_PATH relative ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    set(object $ENV{WEFT_KERNELS}/CMakeFiles/weft_${name}.dir/${relative}.o)
    set(taken FALSE)
    if(NOT "$ENV{WEFT_COMPILED}" STREQUAL "")
      if(NOT relative MATCHES "$ENV{WEFT_COMPILED}")
        set(taken TRUE)
      endif()
    elseif(source MATCHES "${WEFT_KERNEL_FILES}" AND NOT source MATCHES "${WEFT_NO_KERNEL_FILES}")
      set(taken TRUE)
    elseif(WEFT_FUZZ AND NOT /${relative} MATCHES "${WEFT_FUZZED_FILES}")
      set(taken TRUE)
    endif()
    if(taken AND EXISTS ${object})
      list(APPEND result ${object})
    else()
      list(APPEND result ${source})
    endif()
  endforeach()
  set(${out} "${result}" PARENT_SCOPE)
endfunction()

# Addresses are for ASan to check: UBSan's checks of each take a third of the time to compile, and half of it where loops go over
# numbers. Not for the rooms' own code.
set(WEFT_ADDRESSES_UNCHECKED -fno-sanitize=null,alignment,object-size,pointer-overflow)

set(WEFT_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes)

# Checked calls of the C library: wherever the compiler optimises, unless the builder's own flags say how.
string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
set(flags " ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
string(REGEX MATCHALL " -O[^ ]*" levels "${flags}")
list(POP_BACK levels level)
set(WEFT_FORTIFY OFF)
if(level MATCHES "-O" AND NOT level MATCHES "-O0$" AND NOT flags MATCHES "_FORTIFY_SOURCE")
  set(WEFT_FORTIFY ON)
endif()

# Flags are of C, and of C++ where kernels of the backend cuda are compiled for the CPU; nvcc has its own.
function(weft_compile_options target)
  set(host $<COMPILE_LANGUAGE:C,CXX>)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${WEFT_WARNINGS}>"
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow>" "$<${host}:-fno-math-errno;-fno-trapping-math>")
  target_compile_definitions(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
  if(WEFT_WERROR)
    target_compile_options(${target} PRIVATE $<${host}:-Werror>)
  endif()
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE "$<${host}:-fsanitize=${WEFT_SANITIZE};-fno-omit-frame-pointer>")
    if(CMAKE_C_COMPILER_ID MATCHES "Clang")
      # Instrumented loops are not vectorised; saying so about each "omp simd" would be an error.
      target_compile_options(${target} PRIVATE $<${host}:-Wno-pass-failed>)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE})
    get_target_property(kind ${target} TYPE)
    if(WEFT_SANITIZE MATCHES "address" AND kind STREQUAL "EXECUTABLE")
      # A program at a fixed place: what the sanitizers register holds half a million addresses, which the linker would
      # write down for another place and each start would put right.
      target_link_options(${target} PRIVATE -no-pie)
    endif()
    if(WEFT_FUZZ)
      target_compile_options(${target} PRIVATE $<${host}:-fsanitize=fuzzer-no-link>) # the fuzzer is guided by coverage of the rooms
    endif()
  else()
    target_compile_options(${target} PRIVATE $<${host}:-fstack-protector-strong>)
    if(WEFT_FORTIFY)
      target_compile_definitions(${target} PRIVATE $<${host}:_FORTIFY_SOURCE=2>)
    endif()
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  endif()
endfunction()

# Programs of trees for tests are large and link in a third of the time by LLVM's linker, where a machine has it.
find_program(WEFT_LLD ld.lld)
mark_as_advanced(WEFT_LLD)
if(WEFT_LLD AND (WEFT_SANITIZE OR CMAKE_C_COMPILER_ID MATCHES "Clang"))
  add_link_options(-fuse-ld=lld)
endif()

function(weft_room name)
  cmake_parse_arguments(ROOM "" "DIR;EXCLUDE" "LINK" ${ARGN})
  set(root ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/${ROOM_DIR}/*.c)
  list(FILTER sources EXCLUDE REGEX "/(main|[a-z0-9_]+_body)\\.c$")
  if(ROOM_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${ROOM_EXCLUDE}")
  endif()
  if(NOT "$ENV{WEFT_KERNELS}" STREQUAL "")
    weft_kernels_of_another_tree(${name} "${sources}" sources)
  endif()
  if(NOT sources)
    add_library(weft_${name} INTERFACE)
    set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
    target_include_directories(weft_${name} INTERFACE
      $<BUILD_INTERFACE:${root}/include> $<BUILD_INTERFACE:${root}/src> $<BUILD_INTERFACE:${root}>)
    target_link_libraries(weft_${name} INTERFACE ${ROOM_LINK})
    return()
  endif()
  add_library(weft_${name} STATIC ${sources})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(weft_${name} PUBLIC
    $<BUILD_INTERFACE:${root}/include> $<BUILD_INTERFACE:${root}/src> $<BUILD_INTERFACE:${root}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_include_directories(weft_${name} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_link_libraries(weft_${name} PUBLIC ${ROOM_LINK})
  weft_compile_options(weft_${name})
  foreach(source IN LISTS sources)
    # Kernels of numbers read no files, and clang takes minutes to instrument each.
    if((WEFT_FUZZ OR WEFT_CUDA_KIND STREQUAL "SHIM") AND source MATCHES "${WEFT_KERNEL_FILES}" AND NOT source MATCHES "${WEFT_NO_KERNEL_FILES}")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all -O1)
    endif()
    # The longest, which tests of comm hardly call: without optimisation every access is instrumented all the same, in a fifth of
    # the time.
    if(WEFT_SANITIZE STREQUAL "thread" AND source MATCHES "/hal/cpu/(kernels|sparse/spmm_kernel)_")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -O0)
    endif()
    if(WEFT_SANITIZE MATCHES "undefined" AND source MATCHES "${WEFT_KERNEL_FILES}")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${WEFT_ADDRESSES_UNCHECKED})
    endif()
    if(source MATCHES "/clicks/synth/|/trees/loss/logistic_|/hal/cpu/fixed/|/hal/ref/ref_fixed") # the same bits for every instruction set
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)
    endif()
    if(source MATCHES "_avx2\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -mavx2 -mfma -mf16c -mbmi -mbmi2)
    elseif(source MATCHES "_avx512(bf16|vnni)?\\.c$")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS
        -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mbmi -mbmi2 -mprefer-vector-width=512)
      if(CMAKE_MATCH_1)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -mavx512${CMAKE_MATCH_1})
      endif()
    endif()
  endforeach()
endfunction()
