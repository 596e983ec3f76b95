/*
 * option/table_ids_body.h: OPT_ID of each row in OPTION_TABLE_FILE, and the type OPT_ID_choice, which is the
 * enumeration of each row that has one (void for words that are read as text). The first id is OPTION_TABLE_FROM; the
 * constant before it is called OPTION_TABLE_MARK. These three names are undefined afterwards.
 */
enum {
    OPTION_TABLE_MARK = OPTION_TABLE_FROM - 1,
#undef OPTION
#define OPTION(id, ...) OPT_##id,
#include OPTION_TABLE_FILE
#undef OPTION
};

#define CHOICES(type, LIST) type
#define WORDS(text)         void
#define OPTION              OPTION_CHOICE_TYPE
#include OPTION_TABLE_FILE
#undef OPTION
#undef WORDS
#undef CHOICES
#undef OPTION_TABLE_FILE
#undef OPTION_TABLE_FROM
#undef OPTION_TABLE_MARK
