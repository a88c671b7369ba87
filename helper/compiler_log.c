#include "compiler_log.h"

#include <string.h>

static const char not_in_a_path[] = " \t\n'\"(";

/* How many bytes before text[end] belong to the same path. */
static size_t path_before(const char *text, size_t end)
{
    size_t size = 0;
    while (size < end && !strchr(not_in_a_path, text[end - size - 1]))
        size++;
    return size;
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
        char *start = found - path_before(from, (size_t)(found - from));
        memmove(start, cut, strlen(cut) + 1);
        from = start;
    }
}
