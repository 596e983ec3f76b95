/*
 * comm/sync/racks.h: which ranks belong together: the files of --topology (racks) and --sites.
 *
 *      # a comment
 *      east: node01 node02 node03.cluster       hosts, by full or by short name
 *      west: 0-7,12 14                          or ranks
 *
 * A word of digits, commas and dashes names ranks, any other word a host. Hosts that run no rank of the job are passed
 * over, so that one file describes the cluster for jobs of any size; sets without ranks are left out. Every rank must
 * be in exactly one set. Sets are numbered in the order of the file.
 */
#pragma once

#include "comm/comm.h"

enum { TOPOLOGY_NAME_BYTES = 64, TOPOLOGY_HOST_BYTES = 256 };

typedef struct comm_topology {
    int sets, ranks;
    int *set_of;                       /* [ranks] */
    char (*name)[TOPOLOGY_NAME_BYTES]; /* [sets] */
} comm_topology;

/*
 * Parse the text of a file (NUL-terminated). path: for messages. host: the host of each rank, [ranks].
 * WEFT_ERR_DATA names file, line, word and the cure; WEFT_ERR_RESOURCE. Not collective.
 */
weft_status topology_parse(const char *path, const char *text, const char (*host)[TOPOLOGY_HOST_BYTES], int ranks,
                           comm_topology **topology);
/*
 * Rank 0 reads the file, all ranks hand in the names of their hosts and parse; the same on every rank. Collective.
 * As topology_parse, and WEFT_ERR_NOINPUT without the file.
 */
weft_status topology_read(weft_comm *comm, const char *path, comm_topology **topology);
/* One set, or one set a node ("node 0", ...), of a communicator. Not collective. */
weft_status topology_whole(const weft_comm *comm, comm_topology **topology);
weft_status topology_nodes(const weft_comm *comm, comm_topology **topology);
void topology_destroy(comm_topology *topology);

/* Ranks of a set in ascending order; member: [ranks] of room. Returns how many. */
int topology_members(const comm_topology *topology, int set, int *member);
