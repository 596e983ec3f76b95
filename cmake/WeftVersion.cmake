# The version and build texts of base/version.c. The git revision is looked up at every build, and its header rewritten only
# when it changed, so a commit recompiles one file.

set(build_text "${CMAKE_BUILD_TYPE}")
if(WEFT_SANITIZE)
  string(APPEND build_text " with sanitizers ${WEFT_SANITIZE}")
endif()
set_source_files_properties(src/base/version.c PROPERTIES
  COMPILE_DEFINITIONS "WEFT_VERSION=\"${PROJECT_VERSION}\";WEFT_BUILD=\"${build_text}\"")

find_package(Git QUIET)
add_custom_target(weft_revision
  COMMAND ${CMAKE_COMMAND} -D "GIT=${GIT_EXECUTABLE}" -D "SOURCE=${CMAKE_CURRENT_SOURCE_DIR}"
    -D "HEADER=${CMAKE_CURRENT_BINARY_DIR}/generated/base/revision.h"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/WeftRevision.cmake
  BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/generated/base/revision.h
  COMMENT "Looking up the git revision" VERBATIM)
add_dependencies(weft_base weft_revision)
