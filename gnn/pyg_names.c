/*
 * gnn/pyg_names.c: see gnn/pyg_names.h.
 *
 * A name is split into the word and number of its layer and the rest: "conv2.lin.weight" is ("conv", 2, "lin.weight"),
 * and "layers.0.bias" is ("layers.", 0, "bias"). The rest tells what a layer is: a convolution has a tensor that no
 * other layer has. All convolutions of a file must have one word, all normalisations another, and nothing else may be
 * there.
 */
#include "gnn/pyg_names.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text/append.h"
#include "gnn/layers/layer_plan.h"
#include "train/param.h"

enum { WORD_BYTES = 48, DIGITS_MAX = 3, NUMBERS = 1000 };

/* ---- kinds ---- */

static bool has(const safetensors_file *file, const char *name)
{
    return safetensors_find(file, name) >= 0;
}

static bool all_begin_with(const safetensors_file *file, const char *part)
{
    for (int i = 0; i < safetensors_count(file); i++) {
        if (strncmp(safetensors_entry_at(file, i)->name, part, strlen(part)) != 0) {
            return false;
        }
    }
    return true;
}

unsigned pyg_kinds(const safetensors_file *file)
{
    const bool gatv2 = has(file, "convs.0.att"), gat = has(file, "convs.0.att_src");
    const bool sage = !gatv2 && (has(file, "convs.0.lin_r.weight") || has(file, "convs.0.lin_l.weight"));
    const unsigned layers = (sage ? PYG_SAGE : 0U) | (gat ? PYG_GAT : 0U) | (gatv2 ? PYG_GATV2 : 0U) |
                            (!gat && has(file, "convs.0.lin.weight") ? PYG_GCN : 0U) |
                            (has(file, "lins.0.weight") ? PYG_MLP : 0U) |
                            (has(file, "convs.0.nn.lins.0.weight") ? PYG_GIN : 0U);
    return layers == 0 && has(file, "lin.weight") && all_begin_with(file, "lin.") ? PYG_SGC : layers;
}

static bool is_one(unsigned kinds)
{
    return kinds != 0 && (kinds & (kinds - 1)) == 0;
}

/* ---- a name in parts ---- */

typedef struct name_parts {
    char word[WORD_BYTES]; /* "conv", or "layers." where the number is a part by itself */
    int number;
    const char *rest; /* in the name */
} name_parts;

static int read_digits(const char *digits, size_t length)
{
    int number = 0;
    for (size_t i = 0; i < length; i++) {
        number = 10 * number + (digits[i] - '0');
    }
    return number;
}

/* Returns false if the name has no number, or no rest. */
static bool split_name(const char *name, name_parts *parts)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL) {
        return false;
    }
    size_t word = (size_t)(dot - name);
    const size_t own = strspn(dot + 1, "0123456789"); /* layers.0.bias */
    size_t digits = 0;
    while (digits < word && name[word - 1 - digits] >= '0' && name[word - 1 - digits] <= '9') {
        digits++;
    }
    const bool apart = own > 0 && dot[1 + own] == '.';
    const char *first = apart ? dot + 1 : dot - digits;
    digits = apart ? own : digits;
    word = apart ? word + 1 : word - digits;
    parts->rest = apart ? dot + 2 + own : dot + 1;
    if (digits == 0 || digits > DIGITS_MAX || word == 0 || word >= WORD_BYTES || parts->rest[0] == '\0') {
        return false;
    }
    memcpy(parts->word, name, word);
    parts->word[word] = '\0';
    parts->number = read_digits(first, digits);
    return true;
}

static bool is_among(const char *rest, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(rest, *list) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_convolution(const char *rest)
{
    static const char *const tensors[] = {"lin.weight", "lin_l.weight", "att_src", "att", "nn.lins.0.weight", NULL};
    return is_among(rest, tensors);
}

static bool is_norm(const char *rest)
{
    static const char *const tensors[] = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked", NULL};
    static const char module[] = "module.";
    return is_among(strncmp(rest, module, sizeof module - 1) == 0 ? rest + sizeof module - 1 : rest, tensors);
}

/* ---- groups: layers of one word ---- */

typedef struct layer_group {
    char word[WORD_BYTES]; /* "": there is none */
    bool running;          /* running statistics: batch norm */
    int place[NUMBERS];    /* by number: 1 where the group has it, then its place in their order */
    int count;
} layer_group;

typedef struct name_groups {
    layer_group layers, norms;
    bool maps;     /* the layers are linear maps */
    int tensors;   /* of the layers */
    bool doubtful; /* something that belongs to neither */
} name_groups;

/* Returns false if the group has another word already. */
static bool join(layer_group *group, const name_parts *parts)
{
    if (group->word[0] == '\0') {
        snprintf(group->word, sizeof group->word, "%s", parts->word);
    }
    return strcmp(group->word, parts->word) == 0;
}

/* The words of the layers: of convolutions, or of matrices where there is none. */
static void find_layers(const safetensors_file *file, name_groups *groups)
{
    name_parts parts;
    for (int pass = 0; pass < 2 && groups->layers.word[0] == '\0'; pass++) {
        for (int i = 0; i < safetensors_count(file); i++) {
            const safetensors_entry *entry = safetensors_entry_at(file, i);
            const bool named = split_name(entry->name, &parts);
            const bool layer = pass == 0 ? named && is_convolution(parts.rest)
                                         : named && strcmp(parts.rest, "weight") == 0 && entry->dims == 2;
            groups->maps = groups->maps || (layer && pass == 1);
            groups->doubtful = groups->doubtful || (layer && !join(&groups->layers, &parts));
        }
    }
}

static void sort_group(layer_group *group)
{
    for (int number = 0; number < NUMBERS; number++) {
        if (group->place[number] != 0) {
            group->place[number] = group->count++;
        }
    }
}

static void find_groups(const safetensors_file *file, name_groups *groups)
{
    name_parts parts;
    find_layers(file, groups);
    for (int i = 0; i < safetensors_count(file); i++) {
        const safetensors_entry *entry = safetensors_entry_at(file, i);
        if (!split_name(entry->name, &parts)) {
            groups->doubtful = true;
        } else if (strcmp(parts.word, groups->layers.word) == 0) {
            groups->layers.place[parts.number] = 1;
            groups->tensors++;
        } else {
            groups->doubtful =
                groups->doubtful || !is_norm(parts.rest) || entry->dims > 1 || !join(&groups->norms, &parts);
            groups->norms.place[parts.number] = 1;
            groups->norms.running = groups->norms.running || strstr(parts.rest, "running_mean") != NULL;
        }
    }
    sort_group(&groups->layers);
    sort_group(&groups->norms);
    groups->doubtful = groups->doubtful || groups->layers.count == 0 || groups->layers.count > GNN_MAX_CONVOLUTIONS;
}

/* One layer of a linear map and its bias, and nothing else. */
static bool is_one_map(const safetensors_file *file, const name_groups *groups)
{
    name_parts parts;
    int found = 0;
    for (int i = 0; i < safetensors_count(file) && split_name(safetensors_entry_at(file, i)->name, &parts); i++) {
        found += strcmp(parts.rest, "lin.weight") == 0 || strcmp(parts.rest, "lin.bias") == 0;
    }
    return groups->layers.count == 1 && groups->tensors == 2 && found == 2 && safetensors_count(file) == 2;
}

static weft_status rename_tensor(safetensors_file *file, int i, const name_groups *groups, bool one_map)
{
    char name[PARAM_NAME_BYTES];
    name_parts parts = {.rest = ""};
    (void)split_name(safetensors_entry_at(file, i)->name, &parts);
    const bool layer = strcmp(parts.word, groups->layers.word) == 0;
    const layer_group *group = layer ? &groups->layers : &groups->norms;
    const char *module = !layer && groups->norms.running && strncmp(parts.rest, "module.", 7) != 0 ? "module." : "";
    if (one_map) {
        snprintf(name, sizeof name, "%s", parts.rest);
    } else {
        snprintf(name, sizeof name, "%s.%d.%s%s", layer ? (groups->maps ? "lins" : "convs") : "norms",
                 group->place[parts.number], module, parts.rest);
    }
    return safetensors_rename(file, i, name);
}

/* [out] renamed: the names were taken apart without a doubt. */
static weft_status rename_groups(safetensors_file *file, const char *path, bool *renamed)
{
    name_groups groups = {.tensors = 0};
    find_groups(file, &groups);
    *renamed = !groups.doubtful;
    if (groups.doubtful) {
        return WEFT_OK;
    }
    const bool one_map = is_one_map(file, &groups);
    for (int i = 0; i < safetensors_count(file); i++) {
        WEFT_TRY(rename_tensor(file, i, &groups, one_map));
    }
    log_info("%s: layers %sN, %d of them, in the order of their numbers", path, groups.layers.word,
             groups.layers.count);
    return WEFT_OK;
}

static bool is_settled(const safetensors_file *file)
{
    static const char *const parts[] = {"convs.", "lins.", "lin.", "norms."};
    for (int i = 0; i < safetensors_count(file); i++) {
        const char *name = safetensors_entry_at(file, i)->name;
        bool known = false;
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            known = known || strncmp(name, parts[k], strlen(parts[k])) == 0;
        }
        if (!known) {
            return false;
        }
    }
    return is_one(pyg_kinds(file));
}

weft_status pyg_find_names(safetensors_file *file, const char *path)
{
    size_t left_out = 0;
    bool renamed = false;
    while (!is_settled(file)) {
        WEFT_TRY(rename_groups(file, path, &renamed));
        if (renamed || !safetensors_strip(file)) {
            break;
        }
        const safetensors_entry *first = safetensors_entry_at(file, 0);
        left_out = strlen(first->stored) - strlen(first->name);
    }
    if (!is_one(pyg_kinds(file))) {
        safetensors_restore(file);
    } else if (left_out > 0) {
        log_info("%s: \"%.*s\", which all names begin with, is left out", path, (int)left_out,
                 safetensors_entry_at(file, 0)->stored);
    }
    return WEFT_OK;
}

const char *pyg_first_names(const safetensors_file *file, char text[PYG_NAMES_BYTES])
{
    const int count = safetensors_count(file), shown = count < 4 ? count : 4;
    text[0] = '\0';
    for (int i = 0; i < shown; i++) {
        text_append_item(text, PYG_NAMES_BYTES, "\"%.40s\"", safetensors_entry_at(file, i)->stored);
    }
    if (count > shown) {
        text_append(text, PYG_NAMES_BYTES, " and %d more", count - shown);
    }
    return text;
}
