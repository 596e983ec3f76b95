/*
 * bench/table/read_table.c: makes a CSV of 40 columns, and reads it; bench/table/run calls it and compares.
 *
 *     read_table make ROWS FILE           writes the file; prints a JSON object with the sum of each column
 *     read_table read FILE ROUNDS         reads it; prints seconds, processor seconds and page faults of a round, bytes,
 *                                         the memory that was told and that was held, and the sum of each column
 *
 * Columns in turn: whole numbers of 1 to 6 digits, reals of 4 to 8 digits with a sign, and in each tenth column
 * words of eight hexadecimal digits. Every eleventh cell of the whole numbers is empty. Values are multiples of
 * 1/1024 below 2^23, so float32 holds them and sums in double are exact.
 */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "table/table.h"

enum { COLUMNS = 40, WORDS = 1000 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 24;
}

static void print_sums(const double *sum, const int64_t *missing)
{
    printf("\"sum\": [");
    for (int j = 0; j < COLUMNS; j++) {
        printf("%s%.17g", j > 0 ? ", " : "", sum[j]);
    }
    printf("], \"missing\": [");
    for (int j = 0; j < COLUMNS; j++) {
        printf("%s%" PRId64, j > 0 ? ", " : "", missing[j]);
    }
    printf("]}\n");
}

/* Column kinds: 9, 19, ... words; even whole numbers; odd reals. */
static void put_cell(FILE *out, int column, uint64_t bits, double *sum, int64_t *missing)
{
    static const int limits[6] = {9, 99, 999, 9999, 99999, 999999};
    if (column % 10 == 9) {
        const uint32_t word = (uint32_t)(bits % WORDS) * 4294967U + 0xa0000000U;
        fprintf(out, "%08" PRIx32, word);
        *sum += 1;
    } else if (column % 2 == 0) {
        if (bits % 11 == 0) {
            *missing += 1;
            return;
        }
        const int64_t value = (int64_t)(bits / 11 % (uint64_t)limits[column / 2 % 6]);
        fprintf(out, "%" PRId64, value);
        *sum += (double)value;
    } else {
        const double value = ((double)(bits % 2097152) - 1048576) / (column % 4 == 1 ? 1024 : 16);
        fprintf(out, "%.9g", value);
        *sum += (double)(float)value;
    }
}

static int make(int64_t rows, const char *path)
{
    FILE *out = fopen(path, "w");
    double sum[COLUMNS] = {0};
    int64_t missing[COLUMNS] = {0};
    uint64_t state = 1;
    if (out == NULL) {
        perror(path);
        return 1;
    }
    for (int j = 0; j < COLUMNS; j++) {
        fprintf(out, "%sx%d", j > 0 ? "," : "", j);
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            putc(j > 0 ? ',' : '\n', out);
            put_cell(out, j, next_random(&state), &sum[j], &missing[j]);
        }
    }
    putc('\n', out);
    printf("{");
    print_sums(sum, missing);
    return fclose(out) != 0;
}

static void add_column(const weft_table *t, int j, double *sum, int64_t *missing)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (t->column[j].kind == TABLE_REAL) {
            const float value = ((const float *)t->column[j].data)[i];
            *missing += isnan(value);
            *sum += isnan(value) ? 0 : (double)value;
        } else {
            const int32_t value = ((const int32_t *)t->column[j].data)[i];
            const int absent = t->column[j].kind == TABLE_CATEGORY ? value == TABLE_NO_CODE : value == TABLE_NO_INTEGER;
            *missing += absent;
            *sum += absent ? 0 : t->column[j].kind == TABLE_CATEGORY ? 1 : (double)value;
        }
    }
}

/* What the table says it takes, with its words. */
static int64_t told_bytes(const weft_table *t)
{
    int64_t bytes = t->memory;
    for (int j = 0; j < COLUMNS; j++) {
        const table_words *words = t->schema.field[j].words;
        for (int64_t i = 0; words != NULL && i < words_count(words); i++) {
            size_t length;
            (void)words_text(words, i, &length);
            bytes += words_bytes_each(omp_get_max_threads()) + (int64_t)length;
        }
    }
    return bytes;
}

static double processor_seconds(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static int read_file(const char *path, int rounds)
{
    double sum[COLUMNS] = {0};
    int64_t missing[COLUMNS] = {0}, rows = 0;
    struct stat facts;
    struct rusage usage, before;
    int64_t told = 0;
    long idle = 0, faults = 0;
    double processor = 0;
    const table_request request = {.index_base = -1};
    if (stat(path, &facts) != 0) {
        perror(path);
        return 1;
    }
    printf("{\"bytes\": %lld, \"seconds\": [", (long long)facts.st_size);
    for (int round = 0; round < rounds; round++) {
        weft_table t;
        getrusage(RUSAGE_SELF, &before);
        const double began = clock_seconds();
        if (table_open(&path, 1, &request, NULL, &t) != WEFT_OK) {
            fprintf(stderr, "%s\n", weft_error_message());
            return 1;
        }
        printf("%s%.4f", round > 0 ? ", " : "", clock_seconds() - began);
        getrusage(RUSAGE_SELF, &usage);
        processor += processor_seconds(&usage) - processor_seconds(&before);
        faults += usage.ru_minflt - before.ru_minflt;
        idle = round == 0 ? before.ru_maxrss : idle;
        rows = t.rows;
        told = told_bytes(&t);
        for (int j = 0; j < COLUMNS && round == 0; j++) {
            add_column(&t, j, &sum[j], &missing[j]);
        }
        table_close(&t);
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("], \"processor_seconds\": %.3f, \"rows\": %" PRId64 ", \"told_bytes\": %" PRId64, processor / rounds, rows,
           told);
    printf(", \"idle_kib\": %ld, \"peak_kib\": %ld, \"page_faults\": %ld, ", idle, usage.ru_maxrss, faults / rounds);
    print_sums(sum, missing);
    return 0;
}

int main(int argc, char **argv)
{
    log_set_level(LOG_WARN);
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        return make(strtoll(argv[2], NULL, 10), argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "read") == 0) {
        return read_file(argv[2], atoi(argv[3]));
    }
    fprintf(stderr, "usage: read_table make ROWS FILE | read FILE ROUNDS\n");
    return 2;
}
