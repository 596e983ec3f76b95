/*
 * tune/space/space.h: what a search may choose: a space of named dimensions.
 *
 * A configuration is one number a dimension, values[dimension]: of a range the number itself, of choices the place in
 * their list. Searchers work on coordinates in [0, 1], in which equal steps mean equal ratios where the dimension is
 * logarithmic. A whole number or a choice has a cell of its own around its coordinate, so that numbers drawn evenly
 * in [0, 1] give each of them alike.
 *
 *      search_space space = {0};
 *      WEFT_TRY(space_add(&space, &(space_dimension){.name = "lr", .kind = SPACE_LOG, .low = 1e-4, .high = 0.1}));
 *      space_free(&space);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/option_words.h"

extern weft_mem_tag WEFT_MEM_SEARCH[1];

enum {
    SPACE_NAME_MAX = 64,
    SPACE_TEXT_MAX = 128,
    SPACE_DIMENSIONS_MAX = 64,
    SPACE_CHOICES_MAX = 4096,
    SPACE_FACTORS_MAX = 8
};

/* The words are the keys of a space's file (tune/space/space_read.h). */
#define SPACE_KINDS(X)                                                                                                 \
    X(SPACE_RANGE, "range")                                                                                            \
    X(SPACE_LOG, "log")                                                                                                \
    X(SPACE_INTEGER, "integer")                                                                                        \
    X(SPACE_INTEGER_LOG, "integer-log")                                                                                \
    X(SPACE_CHOICE, "choice")
typedef enum space_kind { SPACE_KINDS(CHOICE_VALUE) } space_kind;

typedef struct space_dimension {
    char name[SPACE_NAME_MAX];
    space_kind kind;
    double low, high; /* both ends belong to it; of choices 0 and choices - 1 */
    int choices;
    char **choice; /* [choices] as the option is given them; owned by the space */
    bool ordered;  /* choices that are ascending numbers: neighbours are alike. Set by space_add */
    bool has_prior;
    double prior; /* where the user expects the best value */
    bool *when;   /* [choices of the parent]: those with which it is active; NULL: always. Owned by the space */
    int parent;   /* the dimension that `when` is of */
} space_dimension;

/* number times the values of these dimensions */
typedef struct space_product {
    double number;
    int factors, factor[SPACE_FACTORS_MAX];
} space_product;

/* less <= more (tune/space/space_rules.h) */
typedef struct space_constraint {
    space_product less, more;
} space_constraint;

typedef struct search_space {
    space_dimension *dimension;
    int count, capacity;
    space_constraint *constraint; /* [constraints] */
    int constraints, constraint_room;
} search_space;

/* Adds a dimension without a condition; its choices are copied. WEFT_ERR_USAGE: a name twice, limits out of order, a
 * choice twice, a prior outside, with the dimension's name and the cure. */
weft_status space_add(search_space *space, const space_dimension *dimension);
void space_free(search_space *space);
/* The dimension of this name, or -1. */
int space_find(const search_space *space, const char *name);

/* How many values a dimension has; 0: it is not of cells. */
int64_t space_cells(const space_dimension *dimension);
/* Returns true if the values have an order, so that there are nearer and farther ones. */
bool space_is_ordered(const space_dimension *dimension);
/* Whole numbers and choices. */
bool space_is_whole(const space_dimension *dimension);
/* The coordinate of a value: the middle of its cell, where it has one; of 2.5, the edge between those
 * of 2 and 3. */
double space_coordinate(const space_dimension *dimension, double value);
/* The value at a coordinate, which is brought into [0, 1]. */
double space_value(const space_dimension *dimension, double coordinate);
/* The value as the option is given it. Returns `text`. */
const char *space_value_text(const space_dimension *dimension, double value, char text[SPACE_TEXT_MAX]);

/* A number that other spaces have not: names, kinds, limits, choices, conditions, constraints. */
uint64_t space_digest(const search_space *space);
