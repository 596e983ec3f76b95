# Installation: the program, its manual page and bash completion, both generated from the option table by the program itself, and
# what its users read and start. The page is made with the program: whoever built the target weft can install.
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
add_custom_command(TARGET weft POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND weft generate man > ${generated}/weft.1
  COMMAND weft generate completion > ${generated}/weft.bash
  BYPRODUCTS ${generated}/weft.1 ${generated}/weft.bash VERBATIM)

install(FILES ${generated}/weft.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/weft.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
if(TARGET weft_shared)
  install(TARGETS weft_shared EXPORT weftTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY python/ DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
install(PROGRAMS scripts/slurm/weft.sbatch DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/slurm)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
