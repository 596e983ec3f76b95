# weft_find(NAME header library debian-package): an imported target weft_NAME for a C library that ships no CMake config.
# Used by the build and, installed beside weftConfig.cmake, by the projects that use Weft.

function(weft_find name header library package)
  find_path(WEFT_${name}_INCLUDE ${header})
  find_library(WEFT_${name}_LIBRARY ${library})
  mark_as_advanced(WEFT_${name}_INCLUDE WEFT_${name}_LIBRARY)
  if(NOT WEFT_${name}_INCLUDE OR NOT WEFT_${name}_LIBRARY)
    message(FATAL_ERROR "${header} / lib${library} not found: install ${package}, or set WEFT_${name}_INCLUDE and WEFT_${name}_LIBRARY")
  endif()
  if(NOT TARGET weft_${name})
    add_library(weft_${name} INTERFACE IMPORTED)
    set_target_properties(weft_${name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${WEFT_${name}_INCLUDE}"
      INTERFACE_LINK_LIBRARIES "${WEFT_${name}_LIBRARY}")
  endif()
endfunction()
