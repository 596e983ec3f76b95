/* gnn/data/edges/edge_weights.c: see gnn/data/edges/edge_weights.h. */
#include "gnn/data/edges/edge_weights.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"

static int64_t find_entry(const csr_graph *csr, int64_t from, int64_t to)
{
    const int64_t end = csr->offset[to + 1], at = sorted_first(csr->source, csr->offset[to], end, from);
    return at < end && csr->source[at] == from ? at : -1;
}

const char *edge_weights_called(const edge_weights *s, int64_t vertex, char text[EDGE_WEIGHTS_CALLED])
{
    if (s->map != NULL && s->map->text != NULL) {
        snprintf(text, EDGE_WEIGHTS_CALLED, "'%.40s'", s->map->text + s->map->item[vertex]);
    } else {
        snprintf(text, EDGE_WEIGHTS_CALLED, "%" PRId64, s->map != NULL ? s->map->item[vertex] : vertex + s->first_id);
    }
    return text;
}

static bool put_one_way(const edge_weights *s, int64_t from, int64_t to, float weight, char reason[EDGE_WEIGHTS_REASON])
{
    const int64_t e = find_entry(s->csr, from, to);
    char a[EDGE_WEIGHTS_CALLED], b[EDGE_WEIGHTS_CALLED];
    if (e < 0 && from == to) {
        return true;
    }
    if (e < 0) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "a weight of the edge %s -> %s, which the graph does not have",
                 edge_weights_called(s, from, a), edge_weights_called(s, to, b));
        return false;
    }
    uint32_t bits, before;
    float other;
    memcpy(&bits, &weight, sizeof bits);
    before = __atomic_exchange_n(&s->bits[e], bits, __ATOMIC_RELAXED);
    if (before == EDGE_WEIGHTS_UNSET || before == bits) {
        return true;
    }
    memcpy(&other, &before, sizeof other);
    snprintf(reason, EDGE_WEIGHTS_REASON, "the edge %s -> %s weighs %g here and %g elsewhere in the file: %s",
             edge_weights_called(s, from, a), edge_weights_called(s, to, b), (double)weight, (double)other, s->cure);
    return false;
}

bool edge_weights_put(const edge_weights *s, int64_t from, int64_t to, double value, char reason[EDGE_WEIGHTS_REASON])
{
    const int64_t n = s->csr->vertices;
    char a[EDGE_WEIGHTS_CALLED], b[EDGE_WEIGHTS_CALLED];
    const int64_t wrong = from < 0 || from >= n ? from : to;
    if (from < 0 || from >= n || to < 0 || to >= n) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "vertex %" PRId64 ": vertices are %" PRId64 " to %" PRId64,
                 wrong + s->first_id, s->first_id, n - 1 + s->first_id);
        return false;
    }
    if (!(value == 0.0 || (value >= (double)FLT_MIN && value <= (double)FLT_MAX))) {
        snprintf(reason, EDGE_WEIGHTS_REASON, "%g of the edge %s -> %s is no weight: 0, or from %g to %g",
                 number_plain(value), edge_weights_called(s, from, a), edge_weights_called(s, to, b), (double)FLT_MIN,
                 (double)FLT_MAX);
        return false;
    }
    const float weight = value == 0.0 ? 0.0F : (float)value; /* -0 and 0 are one */
    return put_one_way(s, from, to, weight, reason) && (!s->both_ways || put_one_way(s, to, from, weight, reason));
}
