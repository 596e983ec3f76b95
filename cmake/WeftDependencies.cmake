# What Weft stands on. Each missing one is named with the Debian package that brings it.

find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(MPI REQUIRED COMPONENTS C)

include(WeftFind)
weft_find(xxhash xxhash.h xxhash libxxhash-dev)
weft_find(hwloc hwloc.h hwloc libhwloc-dev)
weft_find(numa numa.h numa libnuma-dev)
weft_find(metis metis.h metis libmetis-dev)
if(WEFT_ONEDNN)
  weft_find(dnnl oneapi/dnnl/dnnl.h dnnl libdnnl-dev)
  target_compile_definitions(weft_dnnl INTERFACE WEFT_HAVE_ONEDNN=1)
else()
  add_library(weft_dnnl INTERFACE IMPORTED)
endif()

# .xz input of weft convert; without it such files are refused by name of the package (liblzma-dev).
find_package(LibLZMA QUIET)
option(WEFT_LZMA "Read .xz files through liblzma" ${LIBLZMA_FOUND})
add_library(weft_lzma INTERFACE IMPORTED)
if(WEFT_LZMA)
  find_package(LibLZMA REQUIRED)
  target_link_libraries(weft_lzma INTERFACE LibLZMA::LibLZMA)
  target_compile_definitions(weft_lzma INTERFACE WEFT_HAVE_LZMA=1)
endif()
