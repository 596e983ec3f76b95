/*
 * partition/stream/design_pairs.h: edges to parts by the groups of their ends.
 *
 *   clusters of vertices -> groups, whole where they fit, the others cut                            design_group
 *   -> all pairs of two groups and a slice go to one of the parts whose blocks hold both groups     block_design.h
 *
 * The vertices of a group are hashed to slices, and the end of lower degree decides, so that its pairs stay together.
 * What slices weigh is counted first; then those with a choice move to lighter parts until that evens nothing any more.
 * Edges are balanced so before one is placed, and no pair waits for another: any number of threads or ranks gives the
 * same, and both directions of a pair find their part by themselves. Two passes over the edges; memory: 2 bytes a
 * vertex, and 9 bytes, 8 more for each thread, for a slice of two groups: at most 147,456 of them.
 *
 * A design serves graphs in which most vertices have neighbours everywhere. Where homes are communities, or the graph
 * has few edges, one replica at home and a few elsewhere are less: design_foresee tells.
 */
#pragma once

#include "partition/row_team.h"
#include "partition/stream/block_design.h"

/* Replicas of a vertex, in the mean of some rows. */
typedef struct design_forecast {
    double by_homes;  /* each pair at home with its end of lower degree */
    double by_design; /* vertices in groups without regard to homes */
} design_forecast;

/* degree [n], home [n] below design->parts. Collective over the team, each rank looks at its own rows. */
weft_status design_foresee(const row_team *team, const int64_t *degree, const uint16_t *home,
                           const block_design *design, design_forecast *forecast);

/* cluster [n]: as homes_find tells. [out] point [n]: groups, each with its share of the vertices; edges within a
 * cluster that is not cut may go to any part that holds its group. */
weft_status design_group(int64_t n, const uint16_t *cluster, const block_design *design, uint16_t *point);

/* point [n]: groups; overwritten. most_load: edges that a part may have. [out] edge_part [edges of the team's own
 * rows], with PARTITION_NO_PART for self-loops, and fits; where a part would have more than it may, fits is false and
 * edge_part is as before. WEFT_ERR_DATA: the graph says that it is symmetric and is not. Collective over the team. */
weft_status design_assign(const row_team *team, const int64_t *degree, const block_design *design, int threads,
                          int64_t most_load, uint16_t *point, uint16_t *edge_part, bool *fits);

/* [out] held [n], zero before: bit p: part p has an edge of v, on any rank. edge_part: as above. Collective over the
 * team. */
weft_status design_tell_held(const row_team *team, const uint16_t *edge_part, uint64_t *held);
