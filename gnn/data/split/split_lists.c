/*
 * gnn/data/split/split_lists.c: a split as a folder of lists of vertices, as OGB has them: train, valid (val) and test
 * as .csv.gz, .csv, .txt or .npy. A file of masks is taken as such (gnn/data/split/split_part.h).
 */

#include "gnn/data/read/reader_parts.h"
#include "gnn/data/split/split_part.h"

bool reader_find_table(const char *folder, const char *stem, char path[FILE_PATH_MAX])
{
    static const char *const endings[] = {".csv.gz", ".csv", ".txt", ".npy"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (file_path(path, "%s/%s%s", folder, stem, endings[i]) == WEFT_OK && file_exists(path)) {
            return true;
        }
    }
    return false;
}

/* Looks for the list of a part under its names. [out] path: "" if there is none. WEFT_ERR_DATA: two names are there. */
static weft_status find_list(const char *folder, int part, char path[FILE_PATH_MAX])
{
    char other[FILE_PATH_MAX];
    bool found = false;
    for (const char *const *stem = reader_part_stems[part]; *stem != NULL; stem++) {
        if (!found) {
            found = reader_find_table(folder, *stem, path);
        } else if (reader_find_table(folder, *stem, other)) {
            return weft_fail(WEFT_ERR_DATA, "%s and %s: two lists of the %s part; keep one", path, other,
                             reader_part_names[part]);
        }
    }
    path[0] = found ? path[0] : '\0';
    return WEFT_OK;
}

bool reader_has_split_lists(const char *folder)
{
    char path[FILE_PATH_MAX];
    bool any = false;
    for (int part = 0; part < READER_PARTS; part++) {
        any = any || find_list(folder, part, path) != WEFT_OK || path[0] != '\0';
        weft_error_clear();
    }
    return any;
}

/* The list as an array of int64, or the array of the .npy as it is. */
static weft_status read_list(const char *path, const raw_graph *raw, reader_part *part)
{
    if (reader_name_ends(path, ".npy")) {
        return npy_read(path, &part->array);
    }
    int64_t count = 0, *index = NULL;
    WEFT_TRY(reader_text_list(path, raw, &count, &index));
    part->text = true;
    part->array =
        (npy_array){.header = {.kind = 'i', .item_bytes = sizeof *index, .dims = 1, .shape = {count}, .count = count},
                    .data = index};
    return WEFT_OK;
}

weft_status reader_split_lists(const char *folder, raw_graph *raw)
{
    reader_part part[READER_PARTS] = {{.name = ""}};
    weft_status status = WEFT_OK;
    for (int i = 0; i < READER_PARTS; i++) {
        WEFT_TRY_GOTO(find_list(folder, i, part[i].name), status, failed);
        WEFT_CHECK_GOTO(part[i].name[0] != '\0', status, failed, WEFT_ERR_DATA,
                        "%s: lacks %s.csv.gz (or .csv, .txt, .npy); train, valid (or val) and test are needed", folder,
                        reader_part_names[i]);
        WEFT_TRY_GOTO(read_list(part[i].name, raw, &part[i]), status, failed);
    }
    return reader_put_parts(part, raw);
failed:
    for (int i = 0; i < READER_PARTS; i++) {
        npy_array_free(&part[i].array);
    }
    return status;
}
