# What a wheel of Python holds beside python/weft (pyproject.toml): program, library, public headers, manual page, completion and the
# sbatch script, as the component "python". A wheel keeps no links, so the library is one file.
if(NOT SKBUILD)
  return()
endif()

# MPI that pip installed stands in the folder lib beside bin.
set_property(TARGET weft APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../lib")
set_property(TARGET weft_shared APPEND PROPERTY INSTALL_RPATH "$ORIGIN/../../..")
set_target_properties(weft weft_shared PROPERTIES LINK_FLAGS_RELEASE -s)

install(PROGRAMS $<TARGET_FILE:weft> DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
install(FILES $<TARGET_FILE:weft_shared> DESTINATION ${SKBUILD_PLATLIB_DIR}/weft RENAME libweft.so COMPONENT python)
if(WEFT_MPI_TARGETS)
  set_target_properties(${WEFT_MPI_TARGETS} PROPERTIES LINK_FLAGS_RELEASE -s)
  install(TARGETS ${WEFT_MPI_TARGETS} LIBRARY DESTINATION ${SKBUILD_DATA_DIR}/lib/weft COMPONENT python)
endif()
install(DIRECTORY include/weft DESTINATION ${SKBUILD_DATA_DIR}/include COMPONENT python FILES_MATCHING PATTERN "*.h")
install(FILES ${generated}/weft.1 DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1 COMPONENT python)
install(FILES ${generated}/weft.bash DESTINATION ${SKBUILD_DATA_DIR}/share/bash-completion/completions RENAME weft COMPONENT python)
install(PROGRAMS scripts/slurm/weft.sbatch DESTINATION ${SKBUILD_DATA_DIR}/share/weft/slurm COMPONENT python)
