# The backend cuda: OFF, ON (nvcc of CUDA 11 or later), or SHIM, the same kernels compiled for this CPU behind an imitated
# device, for tests without a GPU. Included before the rooms: an architecture that is set later would not count.

set(WEFT_CUDA OFF CACHE STRING "Backend for NVIDIA GPUs: OFF, ON, or SHIM (its kernels on the CPU, for tests)")
set_property(CACHE WEFT_CUDA PROPERTY STRINGS OFF ON SHIM)
string(TOUPPER "${WEFT_CUDA}" WEFT_CUDA_KIND)

# What the room hal leaves out.
set(WEFT_CUDA_EXCLUDE "/hal/cuda/")

# Machine code for every card that the toolkit knows of those that clusters have (P100, P40, V100, T4, A100 and what follows it,
# H100, B200), and intermediate code of the newest for later ones: 60 to 90 of 11.8, 60 to 100 of 12.8 and 12.9, 75 to 100
# of 13. An architecture that nvcc does not know would be reported as a broken compiler.
# WEFT_CUDA_DRAFT (preset cuda-draft), to see that it compiles: machine code of the oldest alone, which has the least, as no line of
# the kernels is for some cards and not for others.
function(weft_cuda_architectures nvcc out)
  execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  set(list "")
  foreach(arch 60 61 70 75 80 90 100)
    if(known MATCHES "compute_${arch}\n")
      list(APPEND list ${arch}-real)
    endif()
  endforeach()
  if(NOT list)
    message(FATAL_ERROR "${nvcc} --list-gpu-arch names none of 60 61 70 75 80 90 100: set CMAKE_CUDA_ARCHITECTURES")
  endif()
  list(POP_BACK list newest)
  string(REPLACE "-real" "" newest ${newest})
  if(WEFT_CUDA_DRAFT AND list)
    list(GET list 0 newest)
    set(list "")
  endif()
  set(${out} ${list} ${newest} PARENT_SCOPE)
endfunction()

if(WEFT_CUDA_KIND STREQUAL "SHIM")
  enable_language(CXX)
  set(WEFT_CUDA_EXCLUDE "/hal/cuda/device/device_runtime")
elseif(WEFT_CUDA)
  find_program(WEFT_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda PATH_SUFFIXES bin)
  if(NOT WEFT_NVCC)
    message(FATAL_ERROR "WEFT_CUDA=ON needs nvcc, and none was found: install the CUDA toolkit (Debian: nvidia-cuda-toolkit in "
      "non-free), set WEFT_NVCC to its path, or leave WEFT_CUDA OFF")
  endif()
  execute_process(COMMAND ${WEFT_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT text MATCHES "release ([0-9]+)\\.([0-9]+)" OR CMAKE_MATCH_1 LESS 11)
    message(FATAL_ERROR "${WEFT_NVCC} is of a CUDA before 11, or says no version: WEFT_CUDA=ON needs 11 or later (11.8 to 12.9 "
      "compile for every card from Pascal on); set WEFT_NVCC to another one")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    weft_cuda_architectures(${WEFT_NVCC} CMAKE_CUDA_ARCHITECTURES)
  endif()
  set(CMAKE_CUDA_COMPILER ${WEFT_NVCC})
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  set(WEFT_CUDART_LIBRARIES ${CUDA_cudart_static_LIBRARY} dl rt)
  message(STATUS "CUDA ${CUDAToolkit_VERSION}, compiled for ${CMAKE_CUDA_ARCHITECTURES}")
  set(WEFT_CUDA_EXCLUDE "")
endif()

# Kernels for this CPU behind the imitated device; `target` links what its other files stand on.
function(weft_cuda_shim target)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src/hal/cuda)
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/kernels/*.cu ${folder}/factor/*.cu)
  file(GLOB shim CONFIGURE_DEPENDS ${folder}/shim/*.cpp)
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++")
  # Two thirds of the time to compile all: these have the most combinations of types, and compute little.
  set(largest ${kernels})
  list(FILTER largest INCLUDE REGEX "/(attention|dynamic|nn|sparse)\\.cu$")
  set_source_files_properties(${largest} PROPERTIES COMPILE_OPTIONS "-xc++;-O0;-U_FORTIFY_SOURCE")
  # Whose turn it is takes most of the time of a kernel that waits.
  set_source_files_properties(${folder}/shim/shim_block.cpp PROPERTIES COMPILE_OPTIONS -O2)
  target_sources(${target} PRIVATE ${kernels} ${shim})
  target_compile_definitions(${target} PRIVATE WEFT_HAVE_CUDA=1 WEFT_CUDA_SHIM=1)
  target_compile_features(${target} PRIVATE cxx_std_17)
  target_link_libraries(${target} PUBLIC stdc++)
endfunction()

# Give the room its kernels. Programs are linked as C: kernels need nothing of C++ at run time. The runtime library is linked
# by its path, as what the installed library stands on is.
function(weft_cuda target)
  if(WEFT_CUDA_KIND STREQUAL "SHIM")
    weft_cuda_shim(${target})
    return()
  endif()
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/hal/cuda/kernels/*.cu
    ${CMAKE_CURRENT_SOURCE_DIR}/src/hal/cuda/factor/*.cu)
  target_sources(${target} PRIVATE ${kernels})
  list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
  target_compile_definitions(${target} PRIVATE WEFT_HAVE_CUDA=1
    $<$<COMPILE_LANGUAGE:C>:WEFT_CUDA_ARCHITECTURES="${architectures}">)
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY None CUDA_RESOLVE_DEVICE_SYMBOLS OFF)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics>
    $<$<COMPILE_LANGUAGE:CUDA>:-Wno-deprecated-gpu-targets>) # 12.9 warns of what 13 no longer knows
  if(WEFT_WERROR)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
  endif()
  target_include_directories(${target} PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC ${WEFT_CUDART_LIBRARIES})
endfunction()
