/*
 * MPI initialised by somebody else for calls from the main thread only: everything works, but a communication thread is
 * refused with the cure.
 *
 * ranks: 1 2
 */
#include <mpi.h>

#include "comm/comm.h"
#include "support/test.h"

static void test_funneled_refuses_a_thread(void **state)
{
    weft_comm *comm = NULL;
    double x = 1.0;
    (void)state;
    ASSERT_OK(comm_create_mpi(&comm));
    ASSERT_STATUS(comm_thread_start(comm, -1), WEFT_ERR_LAUNCH);
    ASSERT_MESSAGE("--comm-thread off");
    ASSERT_MESSAGE("MPI_THREAD_SERIALIZED");
    comm_thread_stop(comm);
    ASSERT_OK(comm_allreduce(comm, &x, 1, WEFT_DTYPE_F64, COMM_SUM));
    assert_true(x == (double)comm_size(comm));
    comm_destroy(comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_funneled_refuses_a_thread)};
    int provided = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        return 1;
    }
    if (provided >= MPI_THREAD_SERIALIZED) {
        printf("skipped: this MPI library gives thread level %d although %d was asked for\n", provided,
               MPI_THREAD_FUNNELED);
        MPI_Finalize();
        return 77;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
