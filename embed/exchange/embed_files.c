/* embed/exchange/embed_files.c: the rows of a table as files of its ranks, which any number of ranks reads. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "embed/exchange/embed_internal.h"
#include "embed/rows/row_shard.h"

enum { RANKS_MOST = 99999 };

/* PREFIX-00002-of-00004.rows. [out] rank, ranks. */
static bool parse_name(const char *name, const char *prefix, int *rank, int *ranks)
{
    const size_t length = strlen(prefix);
    int end = 0;
    return strncmp(name, prefix, length) == 0 && sscanf(name + length, "-%5d-of-%5d.rows%n", rank, ranks, &end) == 2 &&
           name[length + (size_t)end] == '\0' && end > 0 && *rank >= 0 && *rank < *ranks;
}

static weft_status path_of(char path[FILE_PATH_MAX], const char *folder, const char *prefix, int rank, int ranks)
{
    return file_path(path, "%s/%s-%05d-of-%05d.rows", folder, prefix, rank, ranks);
}

/* ranks: files of other numbers of ranks are removed where `remove` says so. [out] found: the number of ranks of the
 * files that there are; 0: none. */
static weft_status look_for(const char *folder, const char *prefix, int keep, bool remove, int *found)
{
    char path[FILE_PATH_MAX];
    weft_status status = WEFT_OK;
    DIR *list = opendir(folder);
    *found = 0;
    if (list == NULL) {
        return weft_fail_errno(errno, folder);
    }
    const struct dirent *entry;
    while (status == WEFT_OK && (entry = folder_next(list, folder, &status)) != NULL) {
        int rank = 0, ranks = 0;
        if (!parse_name(entry->d_name, prefix, &rank, &ranks) || (remove && ranks == keep)) {
            continue;
        }
        status = path_of(path, folder, prefix, rank, ranks);
        if (status == WEFT_OK && remove && unlink(path) != 0 && errno != ENOENT) {
            status = weft_fail_errno(errno, path);
        } else if (status == WEFT_OK && !remove && *found != 0 && *found != ranks) {
            status = weft_fail(WEFT_ERR_DATA,
                               "%s: has files of rows of %d ranks and of %d: remove those that do not belong to the "
                               "model",
                               folder, *found, ranks);
        }
        *found = ranks;
    }
    closedir(list);
    return status;
}

/* Ranks that write: one, where all hold the same rows. */
static int writers(const embed_table *t)
{
    return t->desc.mode == EMBED_REPLICATE ? 1 : comm_size(t->comm);
}

weft_status embed_save(const embed_table *t, const char *folder, const char *prefix, uint64_t mark)
{
    const int rank = comm_rank(t->comm), ranks = writers(t);
    char path[FILE_PATH_MAX];
    int found = 0;
    weft_status status = rank == 0 ? look_for(folder, prefix, ranks, true, &found) : WEFT_OK;
    WEFT_TRY(comm_agree(t->comm, status));
    if (rank >= ranks) {
        return WEFT_OK;
    }
    WEFT_TRY(path_of(path, folder, prefix, rank, ranks));
    return row_shard_write(t->store, mark, path);
}

/* Bytes of a file, by blocks. */
static weft_status copy_file(const char *from, const char *to)
{
    file_map map;
    file_writer writer;
    WEFT_TRY(file_map_open(from, &map));
    weft_status status = file_writer_open(to, &writer);
    if (status == WEFT_OK) {
        status = file_write(&writer, map.data, map.size);
        if (status == WEFT_OK) {
            status = file_writer_commit(&writer);
        } else {
            file_writer_discard(&writer);
        }
    }
    file_map_close(&map);
    return status;
}

weft_status embed_copy_files(const embed_table *t, const char *from, const char *prefix, const char *to,
                             const char *to_prefix)
{
    const int rank = comm_rank(t->comm), ranks = writers(t);
    char source[FILE_PATH_MAX], goal[FILE_PATH_MAX];
    int found = 0;
    weft_status status = rank == 0 ? look_for(to, to_prefix, ranks, true, &found) : WEFT_OK;
    WEFT_TRY(comm_agree(t->comm, status));
    if (rank >= ranks) {
        return WEFT_OK;
    }
    WEFT_TRY(path_of(source, from, prefix, rank, ranks));
    WEFT_TRY(path_of(goal, to, to_prefix, rank, ranks));
    return copy_file(source, goal);
}

weft_status embed_remove_files(const char *folder, const char *prefix)
{
    int found = 0;
    return look_for(folder, prefix, 0, true, &found);
}

/* ---- without a table --------------------------------------------------------------------------------------------- */

static weft_status find_files(const char *folder, const char *prefix, int *found)
{
    WEFT_TRY(look_for(folder, prefix, 0, false, found));
    WEFT_CHECK(*found > 0, WEFT_ERR_NOINPUT,
               "%s: the model's rows of embeddings, files %s-*.rows, are not there: they belong beside its weights",
               folder, prefix);
    return WEFT_OK;
}

weft_status embed_files_look(const char *folder, const char *prefix, embed_files *files)
{
    char path[FILE_PATH_MAX];
    *files = (embed_files){.files = 0};
    WEFT_TRY(find_files(folder, prefix, &files->files));
    for (int p = 0; p < files->files; ++p) {
        row_shard_facts facts;
        WEFT_TRY(path_of(path, folder, prefix, p, files->files));
        WEFT_TRY(row_shard_look(path, &facts));
        WEFT_CHECK(p == 0 ||
                       (facts.width == files->width && facts.linear == files->linear && facts.mark == files->mark),
                   WEFT_ERR_DATA, "%s: its rows are of another model than those of the files before it", path);
        files->width = facts.width;
        files->linear = facts.linear;
        files->mark = facts.mark;
        files->rows += facts.rows;
    }
    return WEFT_OK;
}

weft_status embed_files_visit(const char *folder, const char *prefix, embed_files_take *take, void *context)
{
    char path[FILE_PATH_MAX];
    int found = 0;
    WEFT_TRY(find_files(folder, prefix, &found));
    for (int p = 0; p < found; ++p) {
        WEFT_TRY(path_of(path, folder, prefix, p, found));
        WEFT_TRY(row_shard_visit(path, take, context));
    }
    return WEFT_OK;
}

/* ---- into a table ------------------------------------------------------------------------------------------------ */

typedef struct owned_by {
    uint64_t seed;
    int rank, ranks;
} owned_by;

static bool is_mine(uint64_t key, const void *context)
{
    const owned_by *me = context;
    return row_route_owner(key, me->seed, me->ranks) == me->rank;
}

weft_status embed_load(embed_table *t, const char *folder, const char *prefix, uint64_t mark)
{
    const owned_by me = {t->seed, comm_rank(t->comm), comm_size(t->comm)};
    char path[FILE_PATH_MAX];
    int found = 0;
    WEFT_TRY(find_files(folder, prefix, &found));
    WEFT_TRY(embed_clear(t, t->desc.seed));
    for (int p = 0; p < found; ++p) {
        WEFT_TRY(path_of(path, folder, prefix, p, found));
        WEFT_TRY(row_shard_read(path, mark, t->desc.mode == EMBED_REPLICATE ? NULL : is_mine, &me, t->store));
    }
    return WEFT_OK;
}
