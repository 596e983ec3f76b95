/*
 * Jobs one after the other in one process. Without arguments: a training, another of other shape, and the first again
 * has the first's weights to the bit: nothing of a job outlives it. With a file: a line of words NAME=VALUE a job, the
 * options of `weft train`; for scripts whose many small jobs would spend their time starting MPI.
 *
 * ranks: 2
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "support/job_words.h"

enum { WORDS_MAX = 64, LINE_BYTES = 2 * FILE_PATH_MAX };

static weft_status train_line(const app_context *world, weft_comm *comm, const char *line)
{
    char text[LINE_BYTES];
    const char *word[WORDS_MAX];
    char *rest = NULL;
    int count = 0;
    WEFT_CHECK(snprintf(text, sizeof text, "%s", line) < LINE_BYTES, WEFT_ERR_USAGE, "a job of more than %d bytes",
               (int)LINE_BYTES);
    for (char *next = strtok_r(text, " ", &rest); next != NULL; next = strtok_r(NULL, " ", &rest)) {
        WEFT_CHECK(count < WORDS_MAX, WEFT_ERR_USAGE, "a job of more than %d words", (int)WORDS_MAX);
        word[count++] = next;
    }
    weft_options *options = NULL;
    double test = 0;
    weft_status status = job_options(word, count, &options);
    status = status == WEFT_OK ? job_train(world, comm, options, "job", &test) : status;
    option_destroy(options);
    return status == WEFT_OK ? status : weft_fail(status, "%s: %s", line, weft_error_message());
}

static weft_status train_lines(const app_context *world, weft_comm *comm, char *text)
{
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        WEFT_TRY(train_line(world, comm, line));
    }
    return WEFT_OK;
}

static weft_status train_file(const app_context *world, weft_comm *comm, const char *path)
{
    file_map map;
    char *text = NULL;
    WEFT_TRY(file_map_open(path, &map));
    weft_status status = WEFT_NEW_ZERO(&text, map.size + 1, WEFT_MEM_GENERAL);
    if (status == WEFT_OK && map.size > 0) {
        memcpy(text, map.data, map.size);
    }
    file_map_close(&map);
    status = status == WEFT_OK ? train_lines(world, comm, text) : status;
    weft_free(text);
    return status;
}

static weft_status same_bytes(const char *folder, const char *one, const char *other)
{
    char path[FILE_PATH_MAX];
    file_map map[2] = {{.size = 0}, {.size = 0}};
    WEFT_TRY(file_path(path, "%s/%s", folder, one));
    WEFT_TRY(file_map_open(path, &map[0]));
    WEFT_TRY(file_path(path, "%s/%s", folder, other));
    weft_status status = file_map_open(path, &map[1]);
    if (status == WEFT_OK) {
        bool same = map[0].size > 0 && map[0].size == map[1].size && memcmp(map[0].data, map[1].data, map[0].size) == 0;
        status = same ? WEFT_OK : weft_fail(WEFT_ERR_INTERNAL, "%s and %s differ", one, other);
    }
    file_map_close(&map[0]);
    file_map_close(&map[1]);
    return status;
}

static weft_status check_nothing_outlives(const app_context *world, weft_comm *comm)
{
    char folder[FILE_PATH_MAX], text[4 * FILE_PATH_MAX];
    const char *base = getenv("TMPDIR");
    WEFT_TRY(file_path(folder, "%s/weft-jobs-XXXXXX", base != NULL ? base : "/tmp"));
    WEFT_CHECK(comm_rank(comm) != 0 || mkdtemp(folder) != NULL, WEFT_ERR_IO, "%s: cannot be made", folder);
    WEFT_TRY(comm_bcast(comm, 0, folder, sizeof folder));
    const char *shared = "data=synth:quickstart,scale=0.01 calibrate=never epochs=4 eval-every=2";
    snprintf(text, sizeof text,
             "%s model=sage partition=libra seed=3 run-dir=%s/a\n%s model=gat heads=2 hidden=8 partition=metis "
             "run-dir=%s/b\n"
             "%s model=sage partition=libra seed=3 run-dir=%s/c\n",
             shared, folder, shared, folder, shared, folder);
    weft_status status = train_lines(world, comm, text);
    if (status == WEFT_OK && comm_rank(comm) == 0) {
        status = same_bytes(folder, "a/weights.npz", "c/weights.npz");
        status = status == WEFT_OK && same_bytes(folder, "a/weights.npz", "b/weights.npz") == WEFT_OK
                     ? weft_fail(WEFT_ERR_INTERNAL, "another model has the same weights")
                     : status;
    }
    WEFT_TRY(comm_agree(comm, status));
    return comm_agree(comm, comm_rank(comm) == 0 ? folder_remove(folder) : WEFT_OK);
}

static weft_status run(const app_context *world, const char *const *word, int count)
{
    weft_comm *comm = NULL;
    WEFT_TRY(comm_split(world->comm, 0, comm_rank(world->comm), &comm));
    weft_status status = count > 0 ? train_file(world, comm, word[0]) : check_nothing_outlives(world, comm);
    comm_destroy(comm);
    return status;
}

int main(int argc, char **argv)
{
    return job_host(run, argc, argv);
}
