# What Weft stands on. Each missing one is named with the Debian package that brings it.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(MPI REQUIRED COMPONENTS C)

# One interface library for a C library that ships no CMake config: weft_find(name header library debian-package).
function(weft_find name header library package)
  find_path(WEFT_${name}_INCLUDE ${header})
  find_library(WEFT_${name}_LIBRARY ${library})
  if(NOT WEFT_${name}_INCLUDE OR NOT WEFT_${name}_LIBRARY)
    message(FATAL_ERROR "${header} / lib${library} not found: install ${package}, or set WEFT_${name}_INCLUDE and WEFT_${name}_LIBRARY")
  endif()
  add_library(weft_${name} INTERFACE)
  target_include_directories(weft_${name} SYSTEM INTERFACE $<BUILD_INTERFACE:${WEFT_${name}_INCLUDE}>)
  target_link_libraries(weft_${name} INTERFACE ${WEFT_${name}_LIBRARY})
endfunction()

weft_find(xxhash xxhash.h xxhash libxxhash-dev)
weft_find(hwloc hwloc.h hwloc libhwloc-dev)
weft_find(numa numa.h numa libnuma-dev)
weft_find(metis metis.h metis libmetis-dev)
if(WEFT_ONEDNN)
  weft_find(dnnl oneapi/dnnl/dnnl.h dnnl libdnnl-dev)
  target_compile_definitions(weft_dnnl INTERFACE WEFT_HAVE_ONEDNN=1)
else()
  add_library(weft_dnnl INTERFACE)
endif()
