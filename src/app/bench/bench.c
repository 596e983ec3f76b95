/* app/bench/bench.c: weft bench NAME: finds the bench and runs it. */
#include "app/bench/bench.h"

#include <string.h>

#include "app/bench/bench_run.h"

enum { BENCHES_MAX = 32 };

static const option_id gemm_uses[] = {OPT_DIMS, OPT_ROWS, OPT_INPUTS, OPT_THREAD_COUNTS, OPTION_NONE};
static const option_id comm_uses[] = {OPT_OP, OPT_SIZES, OPT_ALGORITHMS, OPTION_NONE};
static const workload_bench own[] = {{"gemm", "dense products", &bench_gemm, gemm_uses},
                                     {"comm", "communication", &bench_comm, comm_uses},
                                     {NULL, NULL, NULL, NULL}};

/* Adds the benches of a list that ends with a name NULL. Returns how many there are. */
static int add_benches(const workload_bench *list, const workload_bench *bench[BENCHES_MAX], int count)
{
    for (; list != NULL && list->name != NULL && count < BENCHES_MAX; ++list) {
        bench[count++] = list;
    }
    return count;
}

/* All benches, those of the kinds of workload behind those of all. */
static int collect(const workload_bench *bench[BENCHES_MAX])
{
    int count = add_benches(own, bench, 0);
    for (int i = 0; workload_list[i] != NULL; ++i) {
        count = add_benches(workload_list[i]->benches, bench, count);
    }
    return count;
}

static bool uses(const workload_bench *bench, option_id id)
{
    return option_id_listed(bench->uses, id);
}

/* The option is another bench's: it would be taken for something that was measured. */
static weft_status refuse_option(const weft_options *options, option_id id, const workload_bench *wanted,
                                 const workload_bench *const *bench, int count)
{
    char others[128] = "";
    for (int i = 0; i < count; ++i) {
        const size_t used = strlen(others);
        if (uses(bench[i], id)) {
            snprintf(others + used, sizeof others - used, "%s%s", used > 0 ? "|" : "", bench[i]->name);
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "--%s %s: weft bench %s does not use it (weft bench %s does)",
                     option_row_in(options, id)->name, option_value_text(options, id), wanted->name, others);
}

/* What a file or the environment says is for all benches; what the command line says must be for this one. */
static weft_status check_options(const weft_options *options, const workload_bench *wanted,
                                 const workload_bench *const *bench, int count)
{
    for (int i = 0; i < count; ++i) {
        for (const option_id *id = bench[i]->uses; *id != OPTION_NONE; ++id) {
            if (!uses(wanted, *id) && option_source_of(options, *id) == OPTION_COMMAND_LINE) {
                return refuse_option(options, *id, wanted, bench, count);
            }
        }
    }
    return WEFT_OK;
}

weft_status app_bench(const weft_options *options)
{
    const workload_bench *bench[BENCHES_MAX];
    const int count = collect(bench);
    const char *wanted = option_argument(options, 0);
    char known[512] = "";
    for (int i = 0; i < count; ++i) {
        const size_t used = strlen(known);
        if (strcmp(bench[i]->name, wanted) == 0) {
            WEFT_TRY(check_options(options, bench[i], bench, count));
            return bench_run_kind(options, bench[i]);
        }
        snprintf(known + used, sizeof known - used, "%s%s (%s)", used > 0 ? ", " : "", bench[i]->name,
                 bench[i]->measures);
    }
    return weft_fail(WEFT_ERR_USAGE, "weft bench %s: there are %s", wanted, known);
}
