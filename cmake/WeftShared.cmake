# libweft.so: the public functions of include/weft, and no other, for programs in other languages (python/weft loads it). The
# archives of the rooms stand in it, so that it needs what the program needs.
if(WEFT_SANITIZE)
  return() # programs that load it have no sanitizer
endif()

set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/weft/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
set(functions "")
foreach(header IN LISTS headers)
  file(STRINGS ${header} lines REGEX "^[a-z].*[ *]weft_[a-z_]+\\(")
  list(TRANSFORM lines REPLACE "^.*[ *](weft_[a-z_]+)\\(.*$" "\\1")
  list(APPEND functions ${lines})
endforeach()
list(JOIN functions "; " exported)
file(CONFIGURE OUTPUT ${folder}/weft.map CONTENT "{ global: ${exported}; local: *; };\n" @ONLY)
file(CONFIGURE OUTPUT ${folder}/shared.c CONTENT "")

add_library(weft_shared SHARED ${folder}/shared.c)
target_link_libraries(weft_shared PRIVATE weft_app)
list(TRANSFORM functions PREPEND "LINKER:-u,") # an archive gives what somebody asks for
target_link_options(weft_shared PRIVATE LINKER:--version-script=${folder}/weft.map LINKER:-z,defs ${functions})
weft_compile_options(weft_shared)
target_include_directories(weft_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(weft_shared PROPERTIES OUTPUT_NAME weft EXPORT_NAME shared VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${folder}/weft.map)
add_dependencies(weft weft_shared) # whoever built the program can install (WeftInstall.cmake)
