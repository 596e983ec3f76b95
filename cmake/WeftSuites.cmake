# The other trees and the style checks as tests of this tree, so that one ctest summary covers everything. On when
# scripts/test configures; each has the label "suite" (leave them out by hand with: ctest -LE suite).

set(WEFT_OTHER ${CMAKE_SOURCE_DIR}/build)

function(weft_suite name timeout)
  add_test(NAME ${name} COMMAND ${ARGN})
  # COST: the longest come first, so that none is left over at the end.
  set_tests_properties(${name} PROPERTIES LABELS suite TIMEOUT ${timeout} PROCESSORS 2 COST ${timeout})
endfunction()

# Each tree runs the tests that declare it (tests/CMakeLists.txt); what is slow with a sanitizer and computes what others compute
# does not. --no-tests=error: a suite that finds nothing has not passed. -j 2: on the two processors that it counts for.
foreach(tree asan clang tsan)
  weft_suite(suite_${tree} 1200 ${CMAKE_CTEST_COMMAND} -j 2 --test-dir ${WEFT_OTHER}/${tree} --output-on-failure
    --no-tests=error -L ^tree-${tree}$)
endforeach()
weft_suite(style_format 120 ${CMAKE_SOURCE_DIR}/scripts/format --check)
weft_suite(style_lint 1200 ${CMAKE_SOURCE_DIR}/scripts/lint --build ${CMAKE_BINARY_DIR})
# What was just built needs no building.
weft_suite(build_is_stable 120 ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target tree_release)
set_tests_properties(build_is_stable PROPERTIES FAIL_REGULAR_EXPRESSION "Building C object;Linking C")
# The other major version of oneDNN, and none; skipped where it cannot be had.
weft_suite(suite_onednn3 900 ${CMAKE_SOURCE_DIR}/scripts/test_onednn3)
set_tests_properties(suite_onednn3 PROPERTIES SKIP_RETURN_CODE 77)
# Kernels of the backend cuda on the CPU, and by nvcc where there is one.
weft_suite(suite_cuda 900 ${CMAKE_SOURCE_DIR}/scripts/test_cuda)
weft_suite(suite_cuda_compiles 900 ${CMAKE_SOURCE_DIR}/scripts/test_cuda --compile)
set_tests_properties(suite_cuda suite_cuda_compiles PROPERTIES SKIP_RETURN_CODE 77)
# Libraries from a prefix that is not /usr, by the way that users without root take.
weft_suite(suite_prefix 900 ${CMAKE_SOURCE_DIR}/scripts/test_prefix)
set_tests_properties(suite_prefix PROPERTIES SKIP_RETURN_CODE 77)
# One program with the wheels of Open MPI, MPICH and Intel MPI, which scripts/test fetched.
weft_suite(suite_mpi 900 ${CMAKE_SOURCE_DIR}/scripts/test_mpi)
set_tests_properties(suite_mpi PROPERTIES SKIP_RETURN_CODE 77)
# None of these instruments kernels of numbers, and none is about them: they take those of this tree, and all else that they do
# not name (WEFT_COMPILED).
set_tests_properties(suite_onednn3 suite_cuda suite_cuda_compiles suite_prefix suite_mpi PROPERTIES
  ENVIRONMENT "WEFT_KERNELS=${CMAKE_BINARY_DIR}")
# The fuzz targets (scripts/fuzz, which takes a minute each by itself): a number of inputs, the same ones each time, which take
# each about 2 seconds.
set(fuzz_100000 click_names npy)
set(fuzz_5000 journal matrix_market metis partition)
set(fuzz_1000 csv vertex_table)
set(fuzz_500 config edge_list libsvm part report share_file tar)
set(fuzz_200 mode_state second_state)
file(GLOB fuzz_targets CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
foreach(file IN LISTS fuzz_targets)
  get_filename_component(name ${file} NAME_WE)
  string(REPLACE "fuzz_" "" target ${name})
  set(runs 20000)
  foreach(other 100000 5000 1000 500 200)
    if(target IN_LIST fuzz_${other})
      set(runs ${other})
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/scripts/fuzz --no-build --runs ${runs} ${target})
  set_tests_properties(${name} PROPERTIES LABELS "suite;fuzz" TIMEOUT 300)
endforeach()
