/*
 * comm/sync/tracking.c: what travels beside the parameters in the modes with local updates: tracked gradients, or the
 * optimiser's second moments.
 *
 * Gradient tracking. Where the ranks' data differ, so do the minima of their shares of the loss: replicas that follow
 * their own gradients pull apart as fast as averages join them, and stop short of the minimum of the sum. With
 * tracking, rank r of P keeps y_r, its running estimate of the gradient over all ranks, next to its parameters w_r:
 *
 *      y_r += e_r(now) - e_r(last step)        e_r = P times the share of rank r (asp: P / n times its site's)
 *      w_r  = optimiser(w_r, y_r)
 *      whatever the mode does to w, it does to y
 *
 * y_r and e_r begin as zero, so the first y_r is e_r. Averages keep sums, so that
 *
 *      sum_r y_r = sum_r e_r = P times the gradient of the whole loss, at all times, up to rounding
 *
 * (asp: once everything was sent; what is held back is small beside y, the rule of lazily aggregated gradients, element
 * by element). At the minimum of the sum all y_r are zero, though no e_r is: there the replicas can rest.
 *
 * Limits: a change of the gradient counts P times until it was averaged, so noise (dropout) and high learning rates are
 * felt more than without. Rounding errors of the sum stay: about 1e-7 of the largest gradient that was seen. Above all,
 * y_r comes close to the gradient only where averages are fast beside the optimiser. In pairs they are not: Adam
 * divides by |y_r|, so replicas whose y_r differ take steps of full length apart, and the gradients at places that
 * differ keep the y_r apart: |y_r - gradient| was still three times |gradient| after 100 steps (GraphSAGE, 4 METIS
 * parts).
 *
 * Second moments. Adam steps along m_r / sqrt(v_r) with moments of e_r. The mean over ranks of such steps points
 * elsewhere than mean m / sqrt(mean v), the more the gradients of the ranks differ, and not at the minimum of the sum.
 * Where v is the same on all ranks, the mean of the steps is linear in the gradients, and e_r need no tracking: mean
 * e_r is the gradient. v changes slowly (beta2 = 0.999), so averages in changing pairs keep it alike. What is left is
 * the bias of local updates with plain SGD, which falls with the learning rate.
 *
 * The modes see one flat vector of values, a copy of the caller's with one of these, z, in it:
 *
 *      caller    | trained | state |            mode    | trained | z | state |
 *
 * which costs a copy of the parameters on the way in and out. Memory: three times the parameters here (two with second
 * moments), twice what the mode keeps. Bytes on the network: twice those of the mode. Only averages keep second moments
 * positive, so they travel with divide-shuffle alone.
 *
 * P. Di Lorenzo, G. Scutari: NEXT: in-network nonconvex optimization. IEEE Transactions on Signal and Information
 * Processing over Networks 2(2), 2016. A. Nedic, A. Olshevsky, W. Shi: Achieving geometric convergence for distributed
 * optimization over time-varying graphs. SIAM J. Optim. 27(4), 2017, doi:10.1137/16M1084316. T. Chen, G. Giannakis,
 * T. Sun, W. Yin: LAG: lazily aggregated gradient for communication-efficient distributed learning. NeurIPS 2018.
 * X. Chen, B. Karimi, W. Zhao, P. Li: On the convergence of decentralized adaptive gradient methods. ACML 2022,
 * arXiv:2109.03194 (ranks with adaptive rates of their own need not converge, with rates in consensus they do).
 */
#include "comm/sync/tracking.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

static bool tracks(const comm_sync *sync)
{
    assert(sync->tracker.kind != SYNC_TRACKING_AUTO);
    return sync->tracker.kind == SYNC_TRACKING_ON;
}

static bool travels(const comm_sync *sync)
{
    return sync->tracker.value != NULL;
}

static float *beside(const comm_sync *sync)
{
    return (float *)sync->desc.value + sync->desc.trained;
}

int64_t tracking_travelling(const comm_sync *sync, sync_mode mode)
{
    return (sync_tracking_of(&sync->options, mode) != SYNC_TRACKING_OFF ? 2 : 1) * sync->desc.trained;
}

int64_t tracking_elements(const comm_sync *sync, sync_mode mode)
{
    int64_t callers = sync->desc.elements - (travels(sync) ? sync->desc.trained : 0);
    return callers - sync->desc.trained + tracking_travelling(sync, mode);
}

weft_status tracking_create(comm_sync *sync, sync_tracking kind)
{
    sync_tracker *t = &sync->tracker;
    int64_t elements = sync->desc.elements;
    int64_t trained = sync->desc.trained;
    WEFT_CHECK(trained <= INT64_MAX - elements, WEFT_ERR_UNSUPPORTED,
               "%lld parameters and as many elements beside them", (long long)elements);
    WEFT_TRY(WEFT_NEW_ZERO(&t->value, elements + trained, WEFT_MEM_COMM));
    if (kind == SYNC_TRACKING_ON) {
        WEFT_TRY(WEFT_NEW_ZERO(&t->last, trained, WEFT_MEM_COMM));
    }
    t->kind = kind;
    t->caller = sync->desc.value;
    sync->desc.value = t->value;
    sync->desc.elements = elements + trained;
    return WEFT_OK;
}

void tracking_destroy(comm_sync *sync)
{
    if (travels(sync)) {
        sync->desc.value = sync->tracker.caller;
        sync->desc.elements -= sync->desc.trained;
    }
    WEFT_FREE_ALL(sync->tracker.value, sync->tracker.last);
    sync->tracker = (sync_tracker){.kind = SYNC_TRACKING_OFF};
}

void tracking_reset(comm_sync *sync)
{
    size_t bytes = (size_t)sync->desc.trained * sizeof(float);
    if (travels(sync) && bytes > 0) {
        memset(beside(sync), 0, bytes);
    }
    if (tracks(sync) && bytes > 0) {
        memset(sync->tracker.last, 0, bytes);
    }
}

/* Copy between the two orders; in: from the caller's. */
static void copy(const comm_sync *sync, bool in)
{
    int64_t trained = sync->desc.trained;
    int64_t state = sync->desc.elements - 2 * trained;
    float *outer[2] = {sync->tracker.caller, sync->tracker.caller + trained};
    float *inner[2] = {sync->tracker.value, sync->tracker.value + 2 * trained};
    const int64_t count[2] = {trained, state};
    for (int k = 0; k < 2; ++k) {
        if (count[k] > 0) {
            memcpy(in ? inner[k] : outer[k], in ? outer[k] : inner[k], (size_t)count[k] * sizeof(float));
        }
    }
}

void tracking_enter(comm_sync *sync)
{
    if (travels(sync)) {
        copy(sync, true);
    }
}

void tracking_leave(const comm_sync *sync)
{
    if (travels(sync)) {
        copy(sync, false);
    }
}

void tracking_update(const comm_sync *sync)
{
    if (!tracks(sync)) {
        return;
    }
    float *y = beside(sync);
    float *last = sync->tracker.last;
    float *grad = sync->desc.grad;
    for (int64_t i = 0; i < sync->desc.trained; ++i) {
        y[i] += grad[i] - last[i];
        last[i] = grad[i];
        grad[i] = y[i];
    }
}

float *sync_second_moments(const comm_sync *sync)
{
    return sync->tracker.kind == SYNC_TRACKING_MOMENTS ? beside(sync) : NULL;
}

int tracking_state(const comm_sync *sync, sync_buffer *buffer)
{
    if (!tracks(sync)) {
        return 0;
    }
    int64_t bytes = sync->desc.trained * (int64_t)sizeof(float);
    buffer[0] = (sync_buffer){.name = "tracked gradient", .data = beside(sync), .bytes = bytes};
    buffer[1] = (sync_buffer){.name = "last gradient", .data = sync->tracker.last, .bytes = bytes};
    return 2;
}
