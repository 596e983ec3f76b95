/* Fuzz target: safetensors, header and every tensor, moments of inputs in the metadata, names that are taken apart.
 * Seeds: tests/fuzz/make_seeds DIR. */
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "gnn/pyg_names.h"
#include "io/safetensors.h"
#include "train/input_moments.h"

enum { STATED_LIMIT = 128 << 20 /* a header of 1 MiB, see io/safetensors.h */ };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    log_set_level(LOG_QUIET);
    return 0;
}

static void read_tensor(const safetensors_file *file, int i, size_t size)
{
    const safetensors_entry *entry = safetensors_entry_at(file, i);
    float *values = NULL;
    if (entry->bytes > size || entry->offset > size - entry->bytes) {
        abort();
    }
    /* A tensor without bytes may have a shape such as [0, 2^40], never more elements than bytes. */
    if (entry->count < 0 || (uint64_t)entry->count > entry->bytes || safetensors_find(file, entry->name) != i) {
        abort();
    }
    if (WEFT_NEW(&values, entry->count + 1, WEFT_MEM_GENERAL) == WEFT_OK) {
        (void)safetensors_read_f32(file, i, values);
    }
    weft_free(values);
}

/* Whatever names become, those of the file are there again. */
static void rename_tensors(safetensors_file *file)
{
    (void)pyg_find_names(file, "m.safetensors");
    safetensors_restore(file);
    for (int i = 0; i < safetensors_count(file); i++) {
        if (strcmp(safetensors_entry_at(file, i)->name, safetensors_entry_at(file, i)->stored) != 0) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_file bytes = fuzz_file_make(data, size);
    safetensors_file *file = NULL;
    if (safetensors_open(bytes.path, &file) == WEFT_OK) {
        for (int i = 0; i < safetensors_count(file); i++) {
            read_tensor(file, i, size);
        }
        (void)safetensors_metadata(file, "format");
        rename_tensors(file);
        input_moments moments;
        if (input_moments_read_metadata("m.safetensors", file, &moments) == WEFT_OK) {
            input_moments_destroy(&moments);
        }
        safetensors_close(file);
    }
    close(bytes.fd);
    fuzz_check_memory(STATED_LIMIT);
    return 0;
}
