/*
 * Buckets of the flat gradient: they tile it from its end, no larger than asked for, blocks whole where they fit, and
 * as few as that allows.
 */
#include "support/test.h"
#include "train/buckets.h"

enum { BLOCKS = 9 };

static const int64_t block_cols[BLOCKS] = {640, 16, 3, 100, 4096, 1, 17, 320, 48};

static void make_store(param_store *store)
{
    param_store_begin(store, NULL, WEFT_DTYPE_F32);
    for (int i = 0; i < BLOCKS; ++i) {
        assert_int_equal(param_add_block(store, PARAM_GROUP_DECAY, 1, block_cols[i]), i);
    }
    assert_int_equal(param_add_block(store, PARAM_GROUP_STATE, 1, 20), BLOCKS); /* state is in no bucket */
}

static int64_t block_end(const param_store *store, int block)
{
    return block + 1 < BLOCKS ? store->block[block + 1].offset : store->trained;
}

static void check_buckets(const param_store *store, const train_buckets *b, int64_t limit)
{
    int64_t end = store->trained;
    for (int i = 0; i < b->buckets; ++i) {
        const sync_bucket *bucket = &b->bucket[i];
        int members = 0;
        assert_int_equal(bucket->offset + bucket->count, end);
        assert_true(bucket->count > 0 && bucket->count <= limit && bucket->offset % 16 == 0);
        for (int block = 0; block < BLOCKS; ++block) {
            bool inside = store->block[block].offset < end && block_end(store, block) > bucket->offset;
            members += inside;
            assert_int_equal(inside, b->first[block] <= i && i <= b->last[block]);
        }
        assert_int_equal(b->members[i], members);
        assert_int_equal(b->missing[i], members);
        end = bucket->offset;
    }
    assert_int_equal(end, 0);
}

static void check_cuts(const param_store *store, const train_buckets *b, int64_t limit)
{
    for (int block = 0; block < BLOCKS; ++block) {
        int64_t size = block_end(store, block) - store->block[block].offset;
        assert_int_equal(b->last[block] - b->first[block], size <= limit ? 0 : (size + limit - 1) / limit - 1);
    }
    /* A bucket that ends where a block begins is followed by one whose first block did not fit into it. */
    for (int i = 0; i + 1 < b->buckets; ++i) {
        for (int block = 1; block < BLOCKS; ++block) {
            if (store->block[block].offset == b->bucket[i].offset) {
                int64_t next = store->block[block].offset - store->block[block - 1].offset;
                assert_true(b->bucket[i].count + next > limit);
            }
        }
    }
}

static void test_buckets_tile_from_the_end(void **state)
{
    static const int64_t limits[] = {16, 32, 64, 112, 480, 1024, 4096, 100000};
    param_store store;
    train_buckets b;
    (void)state;
    make_store(&store);
    for (int i = 0; i < 8; ++i) {
        ASSERT_OK(buckets_create(&store, limits[i] * 4 + i % 3, &b));
        assert_int_equal(b.blocks, BLOCKS);
        check_buckets(&store, &b, limits[i]);
        check_cuts(&store, &b, limits[i]);
        b.missing[0] = 0;
        buckets_begin(&b);
        assert_int_equal(b.missing[0], b.members[0]);
        buckets_destroy(&b);
    }
    param_store_destroy(&store);
}

static void test_no_size_is_one_bucket(void **state)
{
    param_store store;
    train_buckets b;
    (void)state;
    make_store(&store);
    ASSERT_OK(buckets_create(&store, 0, &b));
    assert_int_equal(b.buckets, 1);
    check_buckets(&store, &b, store.trained);
    buckets_destroy(&b);
    ASSERT_OK(buckets_create(&store, 1, &b)); /* less than a border: one border */
    check_buckets(&store, &b, 16);
    buckets_destroy(&b);
    param_store_destroy(&store);
}

static void test_failed_allocations_leave_nothing(void **state)
{
    param_store store;
    train_buckets b;
    (void)state;
    make_store(&store);
    for (uint64_t n = 1; n <= 5; ++n) {
        uint64_t before = weft_mem_usage_total().current_bytes;
        weft_alloc_fail_after(n);
        ASSERT_STATUS(buckets_create(&store, 1024, &b), WEFT_ERR_RESOURCE);
        weft_alloc_fail_after(0);
        assert_int_equal(weft_mem_usage_total().current_bytes, before);
    }
    param_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_tile_from_the_end),
        cmocka_unit_test(test_no_size_is_one_bucket),
        cmocka_unit_test(test_failed_allocations_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
