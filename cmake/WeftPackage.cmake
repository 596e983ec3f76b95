# The installed library: one static archive a room, the public headers, a CMake package (weft::weft) and weft.pc.

include(CMakePackageConfigHelpers)

# From the top floor down: the order in which a linker must see them.
set(WEFT_LIBRARY_ROOMS app gnn dense trees clicks train embed tune focus partition comm table graph tensor hal machine option io base)

add_library(weft_library INTERFACE)
set_target_properties(weft_library PROPERTIES EXPORT_NAME weft)
target_link_libraries(weft_library INTERFACE weft_app)
target_include_directories(weft_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(WEFT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(WEFT_PC_ROOMS "")
set(exported weft_library)
foreach(room IN LISTS WEFT_LIBRARY_ROOMS)
  list(APPEND exported weft_${room})
  get_target_property(type weft_${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    string(APPEND WEFT_PC_ROOMS " -lweft_${room}")
  endif()
endforeach()
install(TARGETS ${exported} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${WEFT_PACKAGE_DIR})
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

configure_package_config_file(cmake/weftConfig.cmake.in ${CMAKE_BINARY_DIR}/weftConfig.cmake
  INSTALL_DESTINATION ${WEFT_PACKAGE_DIR})
# Before 1.0 a new minor version may break its users.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weftConfig.cmake ${CMAKE_BINARY_DIR}/weftConfigVersion.cmake cmake/WeftFind.cmake
  DESTINATION ${WEFT_PACKAGE_DIR})

# pkg-config: archives by name, what they stand on by full path (MPI's folder is not on the default search path).
set(libraries ${MPI_C_LIBRARIES} ${WEFT_dnnl_LIBRARY} ${WEFT_hwloc_LIBRARY} ${WEFT_numa_LIBRARY} ${WEFT_metis_LIBRARY}
  ${WEFT_xxhash_LIBRARY} ${WEFT_jpeg_LIBRARY} ${WEFT_png_LIBRARY} ${ZLIB_LIBRARIES})
if(NOT WEFT_ONEDNN)
  list(REMOVE_ITEM libraries "${WEFT_dnnl_LIBRARY}")
endif()
if(WEFT_LZMA)
  list(APPEND libraries ${LIBLZMA_LIBRARIES})
endif()
if(WEFT_LAPACK AND CMAKE_DL_LIBS)
  set(WEFT_PC_SYSTEM " -l${CMAKE_DL_LIBS}")
endif()
if(WEFT_CUDART_LIBRARIES)
  list(GET WEFT_CUDART_LIBRARIES 0 cudart)
  list(APPEND libraries ${cudart})
  set(WEFT_PC_SYSTEM " -ldl -lrt")
endif()
string(REPLACE " " "\\ " libraries "${libraries}")
string(REPLACE ";" " " libraries "${libraries}")
set(WEFT_PC_LIBRARIES "${libraries} ${OpenMP_C_FLAGS} ${CMAKE_THREAD_LIBS_INIT} -lm${WEFT_PC_SYSTEM}")
file(RELATIVE_PATH WEFT_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" WEFT_PC_UP "${WEFT_PC_UP}")
configure_file(cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
