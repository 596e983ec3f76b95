/*
 * base/option_words.h: the words that options, messages and enumerations share.
 *
 * A room's options are rows of its table, ROOM_options.def (columns: option/option.h). Files with messages include the
 * table and name an option by FLAG_SYNC, the text "--sync", which stands beside the row and is its name. An enumeration
 * that users choose from is one list, from which come its values and their words:
 *
 *     #define SYNC_MODES(X) X(SYNC_ALLREDUCE, "allreduce") X(SYNC_TOPK, "topk")
 *     typedef enum sync_mode { SYNC_MODES(CHOICE_VALUE) } sync_mode;          SYNC_ALLREDUCE = 0, SYNC_TOPK = 1
 *     static const char *const names[] = {SYNC_MODES(CHOICE_NAME)};           [SYNC_TOPK] = "topk"
 *     OPTION(SYNC, ..., CHOICES(sync_mode, SYNC_MODES), ...)                  "allreduce|topk"
 */
#pragma once

#define CHOICE_VALUE(value, word) value,
#define CHOICE_NAME(value, word)  [value] = word,
#define CHOICE_WORD(value, word)  "|" word

/* A list's words with '|' between them, a constant text. */
#define CHOICE_WORDS(LIST) (&("" LIST(CHOICE_WORD))[1])
