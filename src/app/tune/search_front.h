/* app/tune/search_front.h: with several objectives, the trials that no other beats, of those trained to the end. */
#pragma once

#include "app/tune/search_state.h"

typedef struct search_front {
    int *rank; /* [trials] 0: no other beats it; -1: it was not trained to the end */
    int count; /* of rank 0 */
} search_front;

/* With one objective nothing is found. WEFT_FREE_ALL(front->rank). */
weft_status search_find_front(const search_state *s, search_front *front);
/* The folder `front` has the options of each such trial, for weft train --config; other files of it are removed. */
weft_status search_write_front(const search_state *s, const search_front *front);
/* On stdout. */
void search_print_front(const search_state *s, const search_front *front);
/* Drawings of the front: each other objective beside the first one. */
void search_draw_front(const search_state *s, const search_front *front, json_writer *json);
