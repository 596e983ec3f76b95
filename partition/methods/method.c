/* partition/methods/method.c: the rows of the method table. */
#include "partition/methods/method.h"

#include <string.h>

#include "partition/given/given_parts.h"

static const partition_method methods[] = {
    {"auto",
     "the better of metis and expand, of large graphs a covering design or metis; edgecut where that moves fewer rows",
     PARTITION_VERTEX_CUT, true, method_auto},
    {"metis", "vertex-cut, METIS, minimum vertex covers of the cuts, refinement", PARTITION_VERTEX_CUT, true,
     method_metis},
    {"expand", "vertex-cut, parts that grow by neighbourhood expansion, or by a covering design, refinement",
     PARTITION_VERTEX_CUT, true, method_expand},
    {"stream",
     "vertex-cut, edges read as they lie, in little memory: clusters of vertices, then a covering design, or a "
     "score for every pair",
     PARTITION_VERTEX_CUT, true, method_stream},
    {"libra", "vertex-cut, one greedy pass over the edges (Libra)", PARTITION_VERTEX_CUT, true, method_libra},
    {"random", "vertex-cut, every pair of neighbours to a random part", PARTITION_VERTEX_CUT, true, method_random},
    {"2d", "vertex-cut, parts form a grid and a vertex meets one row and one column of it", PARTITION_VERTEX_CUT, false,
     method_2d},
    {"edgecut", "edge-cut, METIS; every edge lies with its destination", PARTITION_EDGE_CUT, true, method_edgecut},
};

static const partition_method from_file = {"file", "edge-cut, parts of vertices from a file", PARTITION_EDGE_CUT, false,
                                           method_file};

const partition_method *partition_method_at(int i)
{
    return i >= 0 && (size_t)i < sizeof methods / sizeof methods[0] ? &methods[i] : NULL;
}

const partition_method *partition_method_find(const char *name)
{
    if (given_is_file(name)) {
        return &from_file;
    }
    for (int i = 0; partition_method_at(i) != NULL; ++i) {
        if (strcmp(methods[i].name, name) == 0) {
            return &methods[i];
        }
    }
    return NULL;
}
