/* base/version.h: which build of Weft this is. Static texts. */
#pragma once

const char *version_text(void);     /* "0.1.0" */
const char *version_revision(void); /* git commit, "+" when the tree had changes; "unknown" outside of a repository */
const char *version_compiler(void); /* "gcc 12.2.0" */
const char *version_build(void);    /* "Release", with its sanitizers */
const char *version_program(void);  /* the three that times of a program depend on: "0.1.0, gcc 12.2.0, Release" */

/* Libraries that base stands on: name and version of the i-th, NULL past the end. */
const char *version_library(int i, const char **version);
