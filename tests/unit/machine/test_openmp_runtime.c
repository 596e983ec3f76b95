/*
 * One OpenMP runtime serves us and oneDNN. Debian's libdnnl brings libgomp; a build by clang brings libomp, which
 * answers for libgomp's symbols as long as it stands before it in the search order. Were there two, each would keep its
 * own pool and the machine would run twice the threads: they are counted.
 * room: hal
 */
#include <dirent.h>
#include <omp.h>

#include "support/test.h"

#ifdef WEFT_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>

enum { THREADS = 5, N = 512 };

static int tasks(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void test_one_openmp_runtime(void **state)
{
    (void)state;
    omp_set_dynamic(0);
    omp_set_num_threads(THREADS);
    int team = 0;
#pragma omp parallel reduction(+ : team)
    team += 1;
    assert_int_equal(team, THREADS);
    int before = tasks();
    float *a = calloc((size_t)N * N, sizeof *a);
    float *c = calloc((size_t)N * N, sizeof *c);
    assert_true(a != NULL && c != NULL);
    assert_int_equal(dnnl_sgemm('N', 'N', N, N, N, 1.0F, a, N, a, N, 0.0F, c, N), dnnl_success);
    assert_int_equal(tasks(), before);
    free(a);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_openmp_runtime)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("skipped: built without oneDNN");
    return 77;
}
#endif
