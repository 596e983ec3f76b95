/* option/option_foreign.c: answers for those who type options of other programs, and their words for choices. */
#include "option/option_internal.h"

const char *option_foreign_answer(const option_catalog *catalog, const char *name)
{
    char word[OPTION_WORD_MAX];
    for (const option_foreign *row = catalog->foreigns; row->words != NULL; row++) {
        for (const char *words = row->words; option_list_next(&words, ',', word);) {
            if (option_same_name(word, name)) {
                return row->answer;
            }
        }
    }
    return NULL;
}

const char *option_own_word(const option_catalog *catalog, option_id id, const char *text)
{
    for (const option_synonym *row = catalog->synonyms; row->words != NULL; row++) {
        if (row->id == id && option_list_has(row->words, ',', text)) {
            return row->choice;
        }
    }
    return text;
}
