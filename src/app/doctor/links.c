/*
 * app/doctor/links.c: the rules of `weft doctor` about links between ranks: inside nodes and between them, the median
 * of all pairs and the worst one by name.
 */
#include <math.h>
#include <stdio.h>

#include "app/doctor/doctor.h"
#include "base/alloc.h"
#include "base/sample.h"

enum { PAIRS_TO_COMPARE = 3 };
static const double slow_latency = 20e-6; /* of shared memory: a tenth of it is usual */
static const double slow_bandwidth = 1e9;
static const double outlier = 4.0;   /* times worse than the median */
static const double slow_node = 0.6; /* of the fastest */

typedef struct link_set {
    const comm_pair *worst_latency, *worst_bandwidth;
    double latency, bandwidth; /* medians */
    int count;
} link_set;

/* The pairs inside nodes, or between them. space: [count]. */
static link_set survey(const comm_pair *pair, int count, const comm_layout *layout, bool inside, double *space)
{
    link_set set = {0};
    for (int pass = 0; pass < 2; pass++) {
        set.count = 0;
        for (int i = 0; i < count; i++) {
            if ((layout->node_of[pair[i].a] == layout->node_of[pair[i].b]) != inside) {
                continue;
            }
            space[set.count++] = pass == 0 ? pair[i].latency : pair[i].bytes_per_second;
            if (set.worst_latency == NULL || pair[i].latency > set.worst_latency->latency) {
                set.worst_latency = &pair[i];
            }
            if (set.worst_bandwidth == NULL || pair[i].bytes_per_second < set.worst_bandwidth->bytes_per_second) {
                set.worst_bandwidth = &pair[i];
            }
        }
        if (set.count > 0) {
            sample_sort(space, set.count);
            *(pass == 0 ? &set.latency : &set.bandwidth) = sample_quantile(space, set.count, 0.5);
        }
    }
    return set;
}

/* Judges the rate of links, or else their latency. */
static void check_link(doctor_list *list, const link_set *set, bool rate, bool inside, const char *where)
{
    const comm_pair *worst = rate ? set->worst_bandwidth : set->worst_latency;
    const double median = rate ? set->bandwidth : set->latency;
    const double found = rate ? worst->bytes_per_second : worst->latency;
    const double scale = rate ? 1e-9 : 1e6;
    const char *unit = rate ? "GB/s" : "us";
    const bool far = rate ? found * outlier < median : found > outlier * median && found > 10e-6;
    const bool odd = set->count >= PAIRS_TO_COMPARE && far;
    const bool slow = inside && (rate ? median < slow_bandwidth : median > slow_latency);
    const doctor_verdict verdict = odd ? DOCTOR_WARNING : slow ? DOCTOR_NOTE : DOCTOR_OK;
    doctor_finding *finding = doctor_add(list, rate ? "link rate" : "latency", where, verdict, median * scale, unit,
                                         "median of %d pairs; worst: ranks %d and %d, %.3g %s", set->count, worst->a,
                                         worst->b, found * scale, unit);
    if (odd) {
        doctor_cure(finding, "look at the load, link and placement of ranks %d and %d", worst->a, worst->b);
    } else if (slow) {
        doctor_cure(finding, "fewer ranks than cores; %s",
                    rate ? "in a container OMPI_MCA_btl_vader_single_copy_mechanism=none"
                         : "a shared-memory transport (mpirun --mca btl self,vader)");
    }
}

void doctor_check_links(doctor_list *list, const comm_pair *pair, int count, const comm_layout *layout)
{
    double *space = NULL;
    const weft_status status = WEFT_NEW(&space, count, WEFT_MEM_GENERAL);
    if (status != WEFT_OK) {
        list->status = status;
        return;
    }
    for (int inside = 1; inside >= 0; inside--) {
        const link_set set = survey(pair, count, layout, inside == 1, space);
        if (set.count > 0) {
            const char *where = inside ? "in a node" : "between nodes";
            check_link(list, &set, false, inside == 1, where);
            check_link(list, &set, true, inside == 1, where);
        }
    }
    weft_free(space);
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */
static void check_node(doctor_list *list, const doctor_card *first, const char *area, double rate, double best)
{
    char where[80];
    if (rate >= slow_node * best || best <= 0.0) {
        return;
    }
    snprintf(where, sizeof where, "node %s", first->host);
    doctor_finding *finding =
        doctor_add(list, area, where, DOCTOR_WARNING, 100.0 * rate / best, "%",
                   "this node has %.0f %% of the fastest node's rate: all will wait for it", 100.0 * rate / best);
    doctor_cure(finding, "leave %s out, end what else runs there, or give it fewer ranks", first->host);
}

/* Rates of a node: the sum over its ranks. */
void doctor_check_nodes(doctor_list *list, const doctor_card *card, const comm_layout *layout)
{
    double best_gemm = 0.0, best_triad = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (int j = 0; j < layout->nodes; j++) {
            double gemm = 0.0, triad = 0.0;
            for (int i = layout->first[j]; i < layout->first[j + 1]; i++) {
                gemm += card[layout->member[i]].gemm;
                triad += card[layout->member[i]].memory.triad;
            }
            if (pass == 0) {
                best_gemm = fmax(best_gemm, gemm);
                best_triad = fmax(best_triad, triad);
            } else {
                check_node(list, &card[layout->member[layout->first[j]]], "gemm", gemm, best_gemm);
                check_node(list, &card[layout->member[layout->first[j]]], "bandwidth", triad, best_triad);
            }
        }
    }
}
