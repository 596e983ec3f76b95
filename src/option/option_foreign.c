/* option/option_foreign.c: answers for those who type options of other programs, and their words for choices. */
#include "option/option_internal.h"

static const char *answer_of(const option_foreign *rows, const char *name)
{
    char word[OPTION_WORD_MAX];
    for (const option_foreign *row = rows; row != NULL && row->words != NULL; row++) {
        for (const char *words = row->words; option_list_next(&words, ',', word);) {
            if (option_same_word(word, name)) {
                return row->answer;
            }
        }
    }
    return NULL;
}

const char *option_foreign_answer(const option_catalog *catalog, const char *name)
{
    return answer_of(catalog->foreigns, name);
}

const char *option_command_answer(const option_catalog *catalog, const char *name)
{
    return answer_of(catalog->other_commands, name);
}

static bool list_has_word(const char *words, const char *text)
{
    char word[OPTION_WORD_MAX];
    while (option_list_next(&words, ',', word)) {
        if (option_same_word(word, text)) {
            return true;
        }
    }
    return false;
}

const char *option_value_answer(const option_catalog *catalog, option_id id, const char *text)
{
    for (const option_foreign_value *row = catalog->values; row != NULL && row->words != NULL; row++) {
        if (row->id == id && list_has_word(row->words, text)) {
            return row->answer;
        }
    }
    return NULL;
}

const char *option_own_word(const option_catalog *catalog, option_id id, const char *text)
{
    for (const option_synonym *row = catalog->synonyms; row->words != NULL; row++) {
        if (row->id == id && list_has_word(row->words, text)) {
            return row->choice;
        }
    }
    return text;
}
