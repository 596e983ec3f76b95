/* app/info/info.h: what the files of `weft info` share: one file a kind of thing that is described. */
#ifndef WEFT_APP_INFO_INFO_H
#define WEFT_APP_INFO_INFO_H

#include <stdbool.h>

#include "base/status.h"
#include "train/input_moments.h"

/* "name: text", escaped: a foreign text must not steer the terminal. */
void info_text(const char *name, const char *text);

weft_status info_store(const char *store, bool check);
weft_status info_table(const char *store, bool check);
weft_status info_run(const char *folder);
weft_status info_checkpoint(const char *folder);
weft_status info_model(const char *path);
/* Arrays of an .npz, and the run that it lies in. WEFT_ERR_DATA: they are no weights. */
weft_status info_weights(const char *path);
/* A network of the zoo, or a file of one: layers, parameters, flops, memory. */
weft_status info_network(const char *what);
weft_status info_hardware(void);

/* The line that says so, where a model has moments of its inputs; in app/info/info_checkpoint.c. */
void info_moments(const input_moments *moments);

#endif
