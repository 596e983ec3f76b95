/* app/doctor/device_check.c: the rules of `weft doctor` about devices that a backend computes on. A node without any is
 * no finding where the program has no backend for them. */
#include <math.h>
#include <stdio.h>

#include "app/doctor/doctor.h"
#include "app/setup/device_text.h"

static void check_device(doctor_list *list, const char *host, const hal_device *d, const pci_link *link)
{
    char text[300], where[80];
    const bool narrow = link->width > 0 && link->width < link->width_most;
    snprintf(where, sizeof where, "node %.50s, GPU %d", host, d->number);
    device_text(d, link, text, sizeof text);
    doctor_finding *finding =
        doctor_add(list, "GPU", where,
                   !d->compiled ? DOCTOR_WARNING
                   : narrow     ? DOCTOR_NOTE
                                : DOCTOR_OK,
                   d->left > 0 ? (double)d->left / 0x1p30 : NAN, d->left > 0 ? "GiB" : "", "%s", text);
    if (!d->compiled) {
        doctor_cure(finding, "build with -DCMAKE_CUDA_ARCHITECTURES=%d%d, or --backend cpu", d->major, d->minor);
    } else if (narrow) {
        doctor_cure(finding, "copies run at %d of %d lanes: look at the slot and riser, or leave this GPU out",
                    link->width, link->width_most);
    }
}

/* How rows of halos pass between the devices and MPI. */
static void check_road(doctor_list *list, const char *where, const doctor_devices *devices)
{
    if (devices->road[0] != '\0') {
        doctor_add(list, "GPU", where, DOCTOR_OK, NAN, "", "rows of halos go %s", devices->road);
    } else if (devices->mpi_takes > 0) {
        doctor_add(list, "GPU", where, DOCTOR_OK, NAN, "", "MPI takes device memory: rows of halos go straight to it");
    } else if (devices->mpi_takes == 0) {
        doctor_cure(doctor_add(list, "GPU", where, DOCTOR_NOTE, NAN, "",
                               "MPI takes no device memory: rows of halos go through pinned host memory"),
                    "an MPI library that was built with CUDA (Open MPI: ompi_info --all, mpi_built_with_cuda_support)");
    } else {
        doctor_add(
            list, "GPU", where, DOCTOR_OK, NAN, "",
            "MPI was not asked, or does not say, whether it takes device memory: rows of halos go through pinned "
            "host memory");
    }
}

void doctor_check_devices(doctor_list *list, const char *host, const doctor_devices *devices, int ranks)
{
    char where[80];
    doctor_finding *finding = NULL;
    snprintf(where, sizeof where, "node %s", host);
    if (!devices->built) {
        return;
    }
    if (devices->count == 0) {
        finding = doctor_add(list, "GPU", where, devices->asked ? DOCTOR_WARNING : DOCTOR_NOTE, NAN, "", "%s",
                             devices->reason);
        doctor_cure(finding, "nvidia-smi should list it; CUDA_VISIBLE_DEVICES may hide it; --backend cpu needs none");
        return;
    }
    for (int i = 0; i < devices->count; i++) {
        check_device(list, host, &devices->device[i], &devices->link[i]);
    }
    if (devices->asked && ranks > devices->count) {
        finding = doctor_add(list, "GPU", where, DOCTOR_NOTE, (double)ranks / devices->count, "ranks",
                             "%d ranks share %d GPUs: memory is divided and kernels take turns", ranks, devices->count);
        doctor_cure(finding, "one rank a GPU: mpirun --map-by ppr:%d:node", devices->count);
    }
    check_road(list, where, devices);
}
