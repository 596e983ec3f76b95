/* app/explain/explain_file.h: an explanation as explain.json (docs/formats.md), and as a table. */
#pragma once

#include <stdio.h>

#include "app/explain/explanation.h"
#include "app/options/option_choices.h"

/* explain.json in a folder. model: for readers. Rank 0. */
weft_status explain_write(const explanation *e, const char *model, const char *folder);
/* The drawings, elements of an array (app/explain/explain_drawings.c). */
void explain_draw(const explanation *e, json_writer *json);
/* The importance of the leading inputs. Rank 0. */
weft_status explain_print(FILE *out, const explanation *e, const char *model, table_format format);
