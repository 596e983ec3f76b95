/*
 * base/nearest.c: see base/nearest.h.
 *
 * Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours each cost 1. F. J. Damerau,
 * Communications of the ACM 7(3), 1964, doi:10.1145/363958.363994.
 */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

static int min3(int a, int b, int c)
{
    int least = a < b ? a : b;
    return least < c ? least : c;
}

static char folded(char c)
{
    return (char)(c == '_' ? '-' : (c >= 'A' && c <= 'Z') ? c - 'A' + 'a' : c);
}

static int edit_distance(const char *a, const char *b)
{
    int rows[3][NEAREST_WORD_MAX + 1];
    int n = (int)strlen(a), m = (int)strlen(b);
    int *before = rows[0], *last = rows[1], *now = rows[2];
    for (int j = 0; j <= m; j++) {
        before[j] = 0;
        last[j] = j;
    }
    for (int i = 1; i <= n; i++) {
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (x != y));
            bool swapped = i > 1 && j > 1 && x == folded(b[j - 2]) && folded(a[i - 2]) == y;
            if (swapped && before[j - 2] + 1 < now[j]) {
                now[j] = before[j - 2] + 1;
            }
        }
        int *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[m];
}

static bool abbreviates(const char *word, const char *name)
{
    size_t length = strlen(word);
    for (size_t i = 0; i < length; i++) {
        if (folded(word[i]) != folded(name[i])) {
            return false;
        }
    }
    return length >= 3;
}

const char *nearest_word(const char *word, const char *const *names, int count)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    if (length == 0 || length >= NEAREST_WORD_MAX) {
        return NULL;
    }
    int limit = length < 3 ? 1 : (int)length / 3, least = limit + 1;
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) >= NEAREST_WORD_MAX) {
            continue;
        }
        int distance = edit_distance(word, names[i]);
        if (distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    for (int i = 0; i < count && nearest == NULL; i++) {
        if (abbreviates(word, names[i])) {
            nearest = names[i];
        }
    }
    return nearest;
}
