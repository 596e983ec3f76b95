/*
 * comm/sync/staging.h: gradients and parameters in a backend's memory, and what of them crosses to the host.
 *
 * The modes work on host memory. If the host sees the backend's memory, they work on it once the stream has run dry.
 * Otherwise they work on copies, and what crosses depends on the mode:
 *
 *      allreduce                each bucket's gradient: down when it is handed in, up when it is reduced. With a
 *                               communication thread the caller goes on, and the reduction starts once the copy is here
 *      allreduce, 16-bit wire   the same gradients, cast on the device: half the bytes each way. The part that a rank
 *                               keeps of its own share is then rounded too; between hosts it is not. So if some ranks
 *                               have no device, float32 crosses
 *      topk                     selections (comm/sparse/sparse_device.c) and small tensors; all gradients if some ranks
 *                               have no device
 *      divide_shuffle, shadow   all parameters around the calls that move them; gradients, which are checked and scaled
 *                               on the device, only if they are tracked
 *      asp                      all gradients and all parameters
 *
 * All calls but one are made by the thread that owns the backend, and do nothing on one rank.
 */
#pragma once

#include "comm/sync/sync_mode.h"

/* The mode is known, and nothing of it is made: where the host cannot see desc.value and desc.grad, both become host
 * memory. */
weft_status staging_create(comm_sync *sync);
/* Ranks may compute on backends of different kinds: whether all of them are devices, and what is made only then, so
 * that replicas see the same sums. Collective, of several ranks. */
weft_status staging_compare(comm_sync *sync);
/* desc.value and desc.grad are the caller's again. */
void staging_destroy(comm_sync *sync);

/* The parameters come to desc.value, and go back. */
weft_status staging_values_in(comm_sync *sync);
weft_status staging_values_out(comm_sync *sync);
/* A bucket's gradient comes to desc.grad, and goes back; nothing where it stays (staging.stays). */
weft_status staging_gradient_in(comm_sync *sync, int bucket);
weft_status staging_gradient_out(comm_sync *sync, int bucket);
/* Whether a gradient that was let in is in desc.grad; not asked again once it was. Any thread; never waits. */
weft_status staging_gradient_here(const comm_sync *sync, int bucket, bool *here);
/* sync_admit of a bucket that stays on the device; once the mode has waited for its exchanges, staging_admitted
 * tells the sync of what was not finite. */
weft_status staging_admit(comm_sync *sync, int bucket);
weft_status staging_admitted(comm_sync *sync);
/* Gradients that stay, times `factor`. */
weft_status staging_scale(const comm_sync *sync, float factor);
