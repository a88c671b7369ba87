#include "compiler_log.h"

#include <string.h>

static const char not_in_a_path[] = " \t\n'\"(";

/* The start of the word that ends at `end`. */
static char *word_start(char *text, char *end)
{
    while (end > text && !strchr(not_in_a_path, end[-1]))
        end--;
    return end;
}

void strip_temporary_paths(char *log)
{
    static const char folder[] = "/comgr-", input[] = "/input/";
    char *from = log;
    for (char *found; (found = strstr(from, folder));) {
        size_t word = strcspn(found, not_in_a_path);
        char *cut = memmem(found, word, input, sizeof input - 1);
        if (!cut) {
            from = found + word;
            continue;
        }
        cut += sizeof input - 1;
        char *start = word_start(from, found);
        memmove(start, cut, strlen(cut) + 1);
        from = start;
    }
}
