/*
 * tune/space/space_read.h: a space as text, a part of TOML:
 *
 *      [space]
 *      lr      = {log = [1e-4, 0.1], prior = 0.01}     # equal ratios are equally likely; the best is expected at
 * 0.01
 *      dropout = {range = [0.0, 0.7]}
 *      layers  = {integer = [2, 6]}
 *      hidden  = {integer-log = [16, 512]}
 *      batch   = {choice = [16, 32, 64]}               # ascending numbers have an order
 *      norm    = {choice = ["none", "batch"]}
 *      heads   = {integer = [1, 8], when = {model = ["gat", "gatv2"]}}     # model is a choice above
 *      constraints = ["hidden * layers <= 512"]        # below the dimensions that it names (tune/space/space_rules.h)
 *
 * A dimension is one line. Names are those of options; '_' and '-' are the same. Numbers are decimal, texts stand in
 * double quotes without backslashes, or in single quotes; true and false are choices too. What could mean two things
 * is refused: whole numbers as the limits of a range, for one.
 */
#pragma once

#include "tune/space/space.h"

enum { SPACE_FILE_MAX = 1 << 20 /* bytes */ };

/*
 * `name` is for messages: every one says line and column. [out] space, which space_free frees, empty on failure;
 * rest: the text with the lines of [space] emptied, for a reader of the other sections, which then counts the same
 * lines; `bytes` long with a NUL behind, weft_free. WEFT_ERR_USAGE: what is wrong, and the cure.
 */
weft_status space_read(const char *name, const char *text, size_t bytes, search_space *space, char **rest);
