/*
 * comm/sparse/sparse_hierarchical.c: HiTopKComm.
 *
 *      1 intra    rank j of a node owns the node's sum of shard j             (comm/sparse/sparse_node.c)
 *      2 select   residual + sum: its share of k goes out, the rest is the new residual
 *      3 inter    the m ranks with the same j exchange selections
 *      4 unpack   they add all m in node order
 *      5 intra    shards to everybody in the node                             (comm/sparse/sparse_node.c)
 *
 * The noise of single ranks is summed before the selection sees it, and a node's network link carries n (m - 1) k / n
 * entries: n times less than when every rank selects for itself.
 *
 * Cost of stage 3: m - 1 messages of 16 bytes and k / n packed entries a rank. Memory: m of them, packed and not.
 *
 * S. Shi et al.: Towards scalable distributed training of deep learning on public cloud clusters. MLSys 2021,
 * arXiv 2010.10458
 */
#include "comm/sparse/sparse_internal.h"

weft_status sparse_hierarchical_create(sparse_plan *plan)
{
    comm_schedule *s = &plan->schedule;
    WEFT_TRY(node_create(plan));
    if (plan->at.mine >= 0) {
        WEFT_TRY(slots_create(&plan->slots, NULL, plan->nodes, plan->at.shard[plan->at.mine].capacity));
        WEFT_TRY(slots_travel(plan, &plan->slots, plan->sender));
    }
    node_build_sum(plan);
    if (plan->at.mine >= 0) {
        schedule_round(s, "select");
        schedule_call(s, sparse_select, plan);
        sparse_exchange_slots(plan, &plan->slots, false, &plan->slots);
        schedule_round(s, "unpack");
        schedule_call(s, sparse_add_slots, plan);
    }
    node_build_gather(plan);
    return WEFT_OK;
}
