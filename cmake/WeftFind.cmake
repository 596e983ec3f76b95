# weft_find(NAME header library debian-package): an imported target weft_NAME for a C library that ships no CMake config.
# Used by the build and, installed beside weftConfig.cmake, by the projects that use Weft. One that is missing ends the configuration,
# or, where WEFT_FIND_ALL is set, waits for weft_missing_stop(), which names all of them. A fifth argument that is not empty is
# the folder (include, lib) of the one to take; it may bring a version alone, without the name that compilers look for.

function(weft_missing what package)
  set_property(GLOBAL APPEND PROPERTY WEFT_MISSING "${what}")
  set_property(GLOBAL APPEND PROPERTY WEFT_MISSING_PACKAGES ${package})
endfunction()

function(weft_missing_stop)
  get_property(missing GLOBAL PROPERTY WEFT_MISSING)
  get_property(packages GLOBAL PROPERTY WEFT_MISSING_PACKAGES)
  if(missing)
    list(JOIN missing "\n  " missing)
    list(JOIN packages " " packages)
    message(FATAL_ERROR "Weft needs what was not found:\n  ${missing}\nDebian and Ubuntu: apt-get install ${packages}\n"
      "Elsewhere, and for libraries in folders of their own: docs/howto-build.md")
  endif()
endfunction()

function(weft_find name header library package)
  set(root "${ARGV4}")
  if(root)
    if(NOT "${WEFT_${name}_INCLUDE}" STREQUAL "${root}/include")
      unset(WEFT_${name}_INCLUDE CACHE)
      unset(WEFT_${name}_LIBRARY CACHE)
    endif()
    file(GLOB versions "${root}/lib/lib${library}.so.*" "${root}/lib64/lib${library}.so.*")
    list(TRANSFORM versions REPLACE "^.*/" "")
    find_path(WEFT_${name}_INCLUDE ${header} PATHS "${root}" PATH_SUFFIXES include NO_DEFAULT_PATH)
    find_library(WEFT_${name}_LIBRARY NAMES ${library} ${versions} PATHS "${root}" PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
    if(NOT WEFT_${name}_INCLUDE OR NOT WEFT_${name}_LIBRARY)
      message(FATAL_ERROR "no include/${header} or no lib/lib${library}.so in ${root}")
    endif()
  endif()
  find_path(WEFT_${name}_INCLUDE ${header})
  find_library(WEFT_${name}_LIBRARY ${library})
  mark_as_advanced(WEFT_${name}_INCLUDE WEFT_${name}_LIBRARY)
  if(NOT WEFT_${name}_INCLUDE OR NOT WEFT_${name}_LIBRARY)
    if(WEFT_FIND_ALL)
      weft_missing("${header} and lib${library}: set WEFT_${name}_INCLUDE and WEFT_${name}_LIBRARY where they are elsewhere" ${package})
      add_library(weft_${name} INTERFACE IMPORTED GLOBAL)
      return()
    endif()
    message(FATAL_ERROR "${header} / lib${library} not found: install ${package}, or set WEFT_${name}_INCLUDE and WEFT_${name}_LIBRARY")
  endif()
  if(NOT TARGET weft_${name})
    add_library(weft_${name} INTERFACE IMPORTED)
    set_target_properties(weft_${name} PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${WEFT_${name}_INCLUDE}"
      INTERFACE_LINK_LIBRARIES "${WEFT_${name}_LIBRARY}")
  endif()
endfunction()
