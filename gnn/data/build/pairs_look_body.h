/* gnn/data/build/pairs_look_body.h: the loops, for the compiler to turn into vectors. Included once by each
 * pairs_look_*.c after PAIRS_LOOK, its name, is defined. */
#include "gnn/data/build/pairs_look.h"

int32_t PAIRS_LOOK(const int32_t *pairs, int64_t count, int32_t *smallest, int32_t *largest)
{
    int32_t least = *smallest;
    int32_t most = *largest;
    int32_t loops = 0;
    for (int64_t i = 0; i < 2 * count; i++) {
        least = pairs[i] < least ? pairs[i] : least;
        most = pairs[i] > most ? pairs[i] : most;
    }
    for (int64_t i = 0; i < count; i++) {
        loops += pairs[2 * i] == pairs[2 * i + 1];
    }
    *smallest = least;
    *largest = most;
    return loops;
}
