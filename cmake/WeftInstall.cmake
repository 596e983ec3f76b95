# Installation: the program, its manual page and bash completion, both generated from the option table by the program itself.
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
add_custom_command(OUTPUT ${generated}/weft.1 ${generated}/weft.bash
  COMMAND weft generate man > ${generated}/weft.1
  COMMAND weft generate completion > ${generated}/weft.bash
  DEPENDS weft COMMENT "Generating the manual page and bash completion" VERBATIM)
add_custom_target(weft_generated ALL DEPENDS ${generated}/weft.1 ${generated}/weft.bash)

install(FILES ${generated}/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/weft.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
install(FILES python/weft_store.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/python)
