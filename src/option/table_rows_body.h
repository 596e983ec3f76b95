/*
 * option/table_rows_body.h: the arrays `rows` and `needs` of the table whose lines stand in OPTION_TABLE_FILE, for the
 * one file that defines the table. OPTION_TABLE_BEFORE, if it is defined, is a file of rows that come first.
 */
static const option_row rows[] = {
#define CHOICES(type, LIST) CHOICE_WORDS(LIST)
#define WORDS(text)         text
#define OPTION              OPTION_ROW
#ifdef OPTION_TABLE_BEFORE
#include OPTION_TABLE_BEFORE
#endif
#include OPTION_TABLE_FILE
#undef OPTION
#undef WORDS
#undef CHOICES
};

static const option_need needs[] = {
#define OPTION(...)
#undef NEED
#define NEED OPTION_NEED
#include OPTION_TABLE_FILE
#undef NEED
#undef OPTION
    {OPTION_NONE, OPTION_NONE, NULL},
};
