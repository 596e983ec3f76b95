/*
 * Windows and the all-reduce in shared memory, over MPI. A window's file has no name any more once it is made, so that
 * no end of the job, however sudden, leaves it behind.
 *
 * ranks: 1 2 3 4 7
 */
#include "support/comm_run.h"
#include "support/window_cases.h"

/* The line of /proc/self/maps that holds the address. */
static bool mapping_of(const void *address, char *line, int bytes)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    bool found = false;
    while (maps != NULL && !found && fgets(line, bytes, maps) != NULL) {
        unsigned long long begin = 0;
        unsigned long long end = 0;
        found = sscanf(line, "%llx-%llx", &begin, &end) == 2 && (uintptr_t)address >= begin && (uintptr_t)address < end;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static weft_status case_no_name(weft_comm *comm, void *argument)
{
    (void)argument;
    char line[4096] = "";
    void *buffer = NULL;
    WEFT_TRY(comm_buffer_alloc(comm, 100000, &buffer));
    bool found = mapping_of(buffer, line, (int)sizeof line);
    comm_buffer_free(comm, buffer);
    CASE_CHECK(found, "no mapping holds the buffer");
    CASE_CHECK(comm_size(comm) == 1 || strstr(line, "(deleted)") != NULL, "%.200s", line);
    return WEFT_OK;
}

int main(void)
{
    comm_case cases[WINDOW_CASES + 1];
    memcpy(cases, window_cases, sizeof window_cases);
    cases[WINDOW_CASES] = (comm_case){"no name", case_no_name};
    return comm_run_mpi(cases, WINDOW_CASES + 1, 2);
}
