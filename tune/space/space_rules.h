/*
 * tune/space/space_rules.h: what a configuration of a space must be beside one value a dimension.
 *
 *      heads       = {integer = [1, 8], when = {model = ["gat", "gatv2"]}}     a condition
 *      constraints = ["hidden * layers <= 512", "heads <= 0.25 * hidden"]
 *
 * A dimension with a condition is active where the choice above it has one of these values and is active itself. What
 * is not active has its lowest value, so that configurations that differ in nothing else are one, and its option is
 * left as the command has it.
 *
 * A constraint compares two products of dimensions and numbers; of a choice the number that it is written as. It says
 * nothing about configurations in which one of its dimensions is not active.
 */
#pragma once

#include "tune/space/space.h"

/* Adds a condition to the last dimension: active where `parent`, a choice above it, is one of the texts [count].
 * WEFT_ERR_USAGE: what is wrong, with the cure. */
weft_status space_add_condition(search_space *space, const char *parent, char *const *text, int count);
/* WEFT_ERR_USAGE: a text that is no constraint, or names what is no dimension with numbers, with the cure. */
weft_status space_add_constraint(search_space *space, const char *text);

/* values [dimensions]; a dimension that is not known (NaN), and below one that is not, is not active. */
bool space_is_active(const search_space *space, const double *values, int dimension);
/* Dimensions that are not active get their lowest value. */
void space_settle(const search_space *space, double *values);
/* Returns true if no constraint is broken. */
bool space_allows(const search_space *space, const double *values);
bool space_has_rules(const search_space *space);
