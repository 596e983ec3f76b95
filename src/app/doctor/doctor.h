/*
 * app/doctor/doctor.h: types that the files of `weft doctor` share: measurements of the ranks, and findings about them.
 *
 * Measuring and judging are apart: the rules (app/doctor/doctor_check.c) are functions of the cards and figures alone,
 * so that tests can ask about machines that we lack.
 */
#pragma once

#include <stdbool.h>

#include "comm/core/layout.h"
#include "comm/model/link_probe.h"
#include "hal/devices.h"
#include "machine/host_settings.h"
#include "machine/pci_link.h"
#include "machine/placement.h"
#include "machine/stream.h"

enum { DOCTOR_NUMA = 8 }; /* NUMA nodes that are measured one by one */

/* Facts and measurements of one rank. Plain data: ranks exchange it as bytes. */
typedef struct doctor_card {
    char host[64];
    int rank, node_rank;
    cpu_set start; /* as the launcher bound it */
    cpu_set mask;  /* after the plan */
    bound_by by;   /* who chose `start` */
    int threads, comm_cpu;
    bool pinned, healed, oversubscribed;
    char reason[200];
    stream_rates memory;                         /* all ranks of the node at once, each in its own memory */
    stream_rates numa[DOCTOR_NUMA][DOCTOR_NUMA]; /* [of the threads][of the memory] */
    double others;                               /* CPUs' worth that others had meanwhile, of this rank's */
    double gemm;                                 /* operations a second, all ranks at once */
} doctor_card;

typedef struct doctor_memory {
    uint64_t total, available;
    uint64_t group; /* what the control group leaves; UINT64_MAX: no limit */
} doctor_memory;

/* The devices of a node, as its first rank sees them. */
typedef struct doctor_devices {
    int count;
    hal_device device[HAL_DEVICES_MOST];
    pci_link link[HAL_DEVICES_MOST];
    char reason[320];           /* why there is none */
    bool built, asked;          /* the program has a backend for them; the job's backend is that one */
    int mpi_takes;              /* MPI sends from their memory: 1, 0, -1: it does not say, or was not asked */
    char road[COMM_ROAD_BYTES]; /* of rows of halos in their memory (comm_choose_direct); "": the job has none */
} doctor_devices;

typedef enum doctor_verdict { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_WARNING } doctor_verdict;

typedef struct doctor_finding {
    char area[16], where[80];
    doctor_verdict verdict;
    double value; /* NaN: no figure */
    char unit[16];
    char found[320], cure[240]; /* cure: "" when there is nothing to do */
} doctor_finding;

typedef struct doctor_list {
    doctor_finding *finding;
    int count, capacity;
    weft_status status; /* of the first failed addition */
} doctor_list;

/* Add; `found` is printf's. The finding is returned for its cure to be set (never NULL). */
doctor_finding *doctor_add(doctor_list *list, const char *area, const char *where, doctor_verdict verdict, double value,
                           const char *unit, const char *found, ...) __attribute__((format(printf, 7, 8)));
void doctor_cure(doctor_finding *finding, const char *cure, ...) __attribute__((format(printf, 2, 3)));
void doctor_list_free(doctor_list *list);
const char *doctor_verdict_text(doctor_verdict verdict);

/* ---- the rules ---------------------------------------------------------------------------------------------- */
/* card: [ranks] of one node, by node rank; m: that node's machine. */
void doctor_check_places(doctor_list *list, const machine *m, const doctor_card *card, int ranks, pin_mode pin);
void doctor_check_memory(doctor_list *list, const char *host, const doctor_memory *memory);
/* numa: [nodes] operating-system numbers of the NUMA nodes of card->numa. */
void doctor_check_speed(doctor_list *list, const doctor_card *card, int ranks, const int *numa, int nodes,
                        const host_settings *settings);
/* Judges the load by other programs during the measurements, on the node where it was highest. others: CPUs' worth used
 * by other processes. stolen: CPUs' worth used by other guests of a virtual machine's host. names: the processes; ""
 * when they cannot be seen. cpus: CPUs of the node that the job runs on; 0: nothing is known. */
void doctor_check_load(doctor_list *list, int cpus, double others, const char *names, double stolen);
/* threads: of all ranks of the node; many_nodes: the job spans several. */
void doctor_check_settings(doctor_list *list, const char *host, const host_settings *settings, int ranks, int threads,
                           bool many_nodes);
void doctor_check_devices(doctor_list *list, const char *host, const doctor_devices *devices, int ranks);
/* btl: Open MPI's list of transports (OMPI_MCA_btl, which mpirun --mca btl sets too), NULL: its own choice. */
void doctor_check_transports(doctor_list *list, const char *host, const char *btl, int ranks);
/* Whole job. card: [ranks] by rank. */
void doctor_check_nodes(doctor_list *list, const doctor_card *card, const comm_layout *layout);
void doctor_check_links(doctor_list *list, const comm_pair *pair, int count, const comm_layout *layout);
