/*
 * partition/methods/method_file.c: an edge-cut whose parts of vertices another program made (given_parts.h).
 *
 * The parts are taken as they are: nothing is balanced, and every edge lies with its destination.
 */
#include "partition/given/given_parts.h"
#include "partition/methods/method.h"

weft_status method_file(const partition_job *job, weft_partition *partition)
{
    return given_parts_read(job->options->method, job->graph->vertices, job->parts, partition->root);
}
