/* embed/exchange/embed_files.c: the rows of a table as files of its ranks, which any number of ranks reads. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "embed/embed_key.h"
#include "embed/exchange/embed_table.h"
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

/* Files of a group: one, where all ranks hold the same rows, else one a rank. */
static int files_of(const embed_group *group)
{
    return group->desc.mode == EMBED_REPLICATE ? 1 : comm_size(group->comm);
}

/* A file of this rank's. */
typedef struct own_file {
    const embed_group *group;
    int number; /* of all files of the table */
} own_file;

/* Groups of fields have files of their own, one behind the other. [out] files: [groups]. Returns how many of them this
 * rank writes; [out] all: of all ranks. */
static int list_files(const embed_table *t, own_file files[EMBED_MODES_COUNT], int *all)
{
    const int rank = comm_rank(t->comm);
    int own = 0;
    *all = 0;
    for (int g = 0; g < t->groups; ++g) {
        const int count = files_of(t->group[g].rows);
        if (rank < count) {
            files[own++] = (own_file){t->group[g].rows, *all + rank};
        }
        *all += count;
    }
    return own;
}

weft_status embed_save(const embed_table *t, const char *folder, const char *prefix, uint64_t mark)
{
    own_file files[EMBED_MODES_COUNT];
    char path[FILE_PATH_MAX];
    int all = 0, found = 0;
    const int own = list_files(t, files, &all);
    weft_status status = comm_rank(t->comm) == 0 ? look_for(folder, prefix, all, true, &found) : WEFT_OK;
    WEFT_TRY(comm_agree(t->comm, status));
    row_store *whole = NULL; /* there is one group in mode columns at most */
    for (int g = 0; g < t->groups; ++g) {
        const embed_group *group = t->group[g].rows;
        WEFT_TRY(group->desc.mode == EMBED_COLUMNS ? embed_group_join_columns(group, &whole) : WEFT_OK);
    }
    status = WEFT_OK;
    for (int i = 0; i < own && status == WEFT_OK; ++i) {
        const embed_group *group = files[i].group;
        status = path_of(path, folder, prefix, files[i].number, all);
        status = status == WEFT_OK
                     ? row_shard_write(group->desc.mode == EMBED_COLUMNS ? whole : group->store, mark, path)
                     : status;
    }
    row_store_close(whole);
    return status;
}

weft_status embed_copy_files(const embed_table *t, const char *from, const char *prefix, const char *to,
                             const char *to_prefix)
{
    own_file files[EMBED_MODES_COUNT];
    char source[FILE_PATH_MAX], goal[FILE_PATH_MAX];
    int all = 0, found = 0;
    const int own = list_files(t, files, &all);
    weft_status status = comm_rank(t->comm) == 0 ? look_for(to, to_prefix, all, true, &found) : WEFT_OK;
    WEFT_TRY(comm_agree(t->comm, status));
    for (int i = 0; i < own; ++i) {
        WEFT_TRY(path_of(source, from, prefix, files[i].number, all));
        WEFT_TRY(path_of(goal, to, to_prefix, files[i].number, all));
        WEFT_TRY(file_copy(source, goal));
    }
    return WEFT_OK;
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

/* The keys of a file that a group holds on this rank. */
typedef struct held_keys {
    const embed_table *table;
    int group;
    bool all; /* of the ranks */
} held_keys;

static bool is_mine(uint64_t key, const void *context)
{
    const held_keys *mine = context;
    const embed_table *t = mine->table;
    const int field = embed_key_field(key);
    const int group = field < t->desc.fields ? t->place[field].group : 0; /* a key of no field: any group has it */
    return group == mine->group &&
           (mine->all || row_route_owner(key, t->group[group].rows->seed, comm_size(t->comm)) == comm_rank(t->comm));
}

/* Under a bound of memory, which no table of several groups has, the room that a store of as many ranks had taken. */
static weft_status take_room(const embed_table *t, const char *folder, const char *prefix, int found)
{
    const embed_group *group = t->group[0].rows;
    const int files = files_of(group);
    char path[FILE_PATH_MAX];
    bool taken = false;
    if (t->desc.memory_most == 0) {
        return WEFT_OK;
    }
    if (found == files) {
        WEFT_TRY(path_of(path, folder, prefix, files == 1 ? 0 : comm_rank(t->comm), found));
        WEFT_TRY(row_shard_take_room(path, group->store, &taken));
    }
    if (!taken) {
        log_warn("%s: rows of %d %s, which had other room than those of this run of %d: which ids find room under the "
                 "bound of memory may differ from here on from a run in one go",
                 folder, found, found == 1 ? "store" : "stores", files);
    }
    return WEFT_OK;
}

weft_status embed_load(embed_table *t, const char *folder, const char *prefix, uint64_t mark)
{
    char path[FILE_PATH_MAX];
    int found = 0;
    WEFT_TRY(find_files(folder, prefix, &found));
    WEFT_TRY(embed_clear(t, t->desc.seed));
    WEFT_TRY(take_room(t, folder, prefix, found));
    for (int g = 0; g < t->groups; ++g) {
        embed_group *group = t->group[g].rows;
        const held_keys mine = {t, g, embed_group_shares_keys(group)};
        for (int p = 0; p < found; ++p) {
            WEFT_TRY(path_of(path, folder, prefix, p, found));
            WEFT_TRY(row_shard_read(path, mark, is_mine, &mine, group->store));
        }
    }
    return WEFT_OK;
}

/* The counts of a file belong to the rank of its number, so that a resumed run writes the files of an unbroken one. */
weft_status embed_load_counts(embed_table *t, const char *folder, const char *prefix)
{
    char path[FILE_PATH_MAX];
    row_counts own = {0};
    int found = 0;
    WEFT_TRY(find_files(folder, prefix, &found));
    const int ranks = embed_group_shares_keys(t->group[0].rows) ? 1 : comm_size(t->comm);
    for (int p = comm_rank(t->comm); p < found && comm_rank(t->comm) < ranks; p += ranks) {
        row_shard_facts facts;
        WEFT_TRY(path_of(path, folder, prefix, p, found));
        WEFT_TRY(row_shard_look(path, &facts));
        own.made += facts.counts.made;
        own.refused += facts.counts.refused;
        own.expired += facts.counts.expired;
    }
    for (int g = 0; g < t->groups; ++g) {
        row_store_count_from(t->group[g].rows->store, g == 0 ? own : (row_counts){0});
    }
    return WEFT_OK;
}
