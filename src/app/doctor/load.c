/* app/doctor/load.c: who else used the processors while they were measured; see app/doctor/doctor.h. */

#include "app/doctor/doctor.h"

static const double taken_share = 0.15; /* of the CPUs, by others */

void doctor_check_load(doctor_list *list, int cpus, double others, const char *names, double stolen)
{
    const bool known = names[0] != '\0';
    if (cpus == 0) {
        return;
    }
    const bool taken = others + stolen >= taken_share * cpus;
    doctor_finding *finding =
        doctor_add(list, "load", "busiest node", taken ? DOCTOR_WARNING : DOCTOR_OK, others + stolen, "CPUs",
                   "of %d CPUs: others had %.1f meanwhile%s%s%s", cpus, others + stolen, taken && known ? " (" : "",
                   taken && known ? names : "", taken && known ? ")" : "");
    if (taken) {
        doctor_cure(finding, "%s, and run weft doctor again: its rates are those of a shared machine",
                    stolen > others ? "ask who else is on the virtual machine's host" : "end them, or wait");
    }
}
