/* app/doctor/list.c: the list of findings; see app/doctor/doctor.h. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "app/doctor/doctor.h"
#include "base/alloc.h"

static doctor_finding *new_finding(doctor_list *list)
{
    static _Thread_local doctor_finding lost; /* where a finding goes that there is no memory for */
    if (list->count == list->capacity) {
        const int capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        const weft_status status =
            weft_realloc((void **)&list->finding, (size_t)capacity, sizeof *list->finding, WEFT_MEM_GENERAL);
        if (status != WEFT_OK) {
            list->status = list->status == WEFT_OK ? status : list->status;
            return &lost;
        }
        list->capacity = capacity;
    }
    return &list->finding[list->count++];
}

doctor_finding *doctor_add(doctor_list *list, const char *area, const char *where, doctor_verdict verdict, double value,
                           const char *unit, const char *found, ...)
{
    assert(area[0] != '\0' && found[0] != '\0');
    doctor_finding *finding = new_finding(list);
    va_list arguments;
    *finding = (doctor_finding){.verdict = verdict, .value = value};
    snprintf(finding->area, sizeof finding->area, "%s", area);
    snprintf(finding->where, sizeof finding->where, "%s", where);
    snprintf(finding->unit, sizeof finding->unit, "%s", unit);
    va_start(arguments, found);
    vsnprintf(finding->found, sizeof finding->found, found, arguments);
    va_end(arguments);
    return finding;
}

void doctor_cure(doctor_finding *finding, const char *cure, ...)
{
    va_list arguments;
    va_start(arguments, cure);
    vsnprintf(finding->cure, sizeof finding->cure, cure, arguments);
    va_end(arguments);
}

void doctor_list_free(doctor_list *list)
{
    weft_free(list->finding);
    *list = (doctor_list){0};
}

const char *doctor_verdict_text(doctor_verdict verdict)
{
    static const char *const texts[] = {"ok", "note", "WARNING"};
    return texts[verdict];
}
