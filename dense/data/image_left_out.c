/* dense/data/image_left_out.c: what is left out of a set of files, and the messages about it; see
 * dense/data/image_list.h. */
#include <string.h>

#include "base/log.h"
#include "base/text/append.h"
#include "dense/data/image_list.h"
#include "dense/data/names/image_names.h"
#include "io/text/path_name.h"

/* The first of some names in their order: a folder's entries come in any. */
static void keep_first(int64_t before, const char *name, char first[FILE_PATH_MAX])
{
    if (before == 0 || strcmp(name, first) < 0) {
        snprintf(first, FILE_PATH_MAX, "%s", name);
    }
}

static void note_ending(image_left_out *out, const char *ending)
{
    const size_t length = strlen(ending);
    for (const char *at = out->endings; (at = strstr(at, ending)) != NULL; ++at) {
        if (at[length] == '\0' || at[length] == ',') {
            return;
        }
    }
    if (strlen(out->endings) + length + 3 < sizeof out->endings) {
        text_append_item(out->endings, sizeof out->endings, "%s", ending);
    }
}

/* Files of IDX and CIFAR sets, packed or not. */
static bool is_record(const char *name)
{
    return strstr(name, "idx3-ubyte") != NULL || strstr(name, "data_batch_") != NULL || path_ends(name, "train.bin");
}

void image_files_pass_over(image_files *files, const char *name)
{
    image_left_out *out = &files->out;
    const char *foreign = image_name_foreign(name);
    if (image_name_lies_beside(name)) {
        return;
    }
    if (foreign != NULL) {
        keep_first(out->foreign++, name, out->first_foreign);
        note_ending(out, foreign);
    } else if (path_ends(name, ".cls")) {
        keep_first(out->labels++, name, out->first_label);
    } else {
        keep_first(out->entries++, name, out->first);
        out->holds_records = out->holds_records || is_record(name);
    }
}

void image_files_note_beside(image_files *files, const char *folder)
{
    char *first = files->out.beside;
    if (first[0] == '\0' || strcmp(folder, first) < 0) {
        snprintf(first, FILE_PATH_MAX, "%s", folder);
    }
}

int64_t image_files_seen(const image_files *files)
{
    return files->count + files->out.entries + files->out.foreign + files->out.labels;
}

static void tell_beside(const char *path, const image_left_out *out)
{
    const char *slash = strrchr(out->beside, '/');
    const char *word = slash != NULL ? slash + 1 : out->beside;
    const char *meant = image_word_meant(word, strlen(word));
    log_warn("%s: %s/ is no split and is left out: splits are train/, val/ and test/%s%s%s", path, out->beside,
             meant != NULL ? "; did you mean " : "", meant != NULL ? meant : "", meant != NULL ? "?" : "");
}

void image_list_tell_left_out(const char *path, const image_files *files)
{
    const image_left_out *out = &files->out;
    const char *what = image_list_is_loose(files) ? "" : " in a class folder";
    const int64_t entries = out->entries + out->labels;
    const char *first = out->entries > 0 ? out->first : out->first_label;
    if (entries == 1) {
        log_warn("%s: %s is no image%s and is left out", path, first, what);
    } else if (entries > 1) {
        log_warn("%s: %lld entries are no images%s and are left out, the first is %s", path, (long long)entries, what,
                 first);
    }
    if (out->foreign > 0 && files->count > 0) { /* else it is the error */
        log_warn("%s: %lld file%s of a kind that is not read (%s): convert them to PNG; left out, the first is %s",
                 path, (long long)out->foreign, out->foreign == 1 ? "" : "s", out->endings, out->first_foreign);
    }
    if (out->beside[0] != '\0') {
        tell_beside(path, out);
    }
}

weft_status image_list_fail_empty(const char *path, const image_files *files)
{
    const image_left_out *out = &files->out;
    WEFT_CHECK(out->foreign == 0, WEFT_ERR_DATA,
               "%s: no %simage: %lld file%s of a kind that is not read (%s): convert them to PNG; the first is %s",
               path, image_list_is_loose(files) ? "" : "training ", (long long)out->foreign,
               out->foreign == 1 ? "" : "s", out->endings, out->first_foreign);
    WEFT_CHECK(!out->holds_records, WEFT_ERR_DATA,
               "%s: no image in folders: %s is a file of an IDX or CIFAR set, which is read from a folder: unpack the "
               "archive and name the folder",
               path, out->first);
    WEFT_CHECK(!image_list_is_loose(files), WEFT_ERR_DATA, "%s: no image: expected files .jpg, .jpeg or .png", path);
    return weft_fail(WEFT_ERR_DATA,
                     "%s: no training image: expected train/CLASS/NAME.jpg (or .jpeg, .png); other splits are val and "
                     "test",
                     path);
}
