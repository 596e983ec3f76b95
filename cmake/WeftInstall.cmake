# Installation; the package files follow with the public library.
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
