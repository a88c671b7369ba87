/* A position in one line of assembly, and the few moves its parsers share. Every move stays before
   the terminating NUL, so hostile text can only fail to parse. */
#ifndef EMULATOR_SCANNER_H
#define EMULATOR_SCANNER_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct scanner {
    const char *at;
};

static inline void scanner_skip_blanks(struct scanner *scanner)
{
    scanner->at += strspn(scanner->at, " \t");
}

/* Takes `text` if it comes next. */
static inline bool scanner_take(struct scanner *scanner, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(scanner->at, text, length) != 0)
        return false;
    scanner->at += length;
    return true;
}

static inline bool scanner_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The length of the identifier that comes next. */
static inline size_t scanner_word(const struct scanner *scanner)
{
    size_t length = 0;
    while (scanner_is_word(scanner->at[length]))
        ++length;
    return length;
}

/* Takes `word` if it is the whole identifier that comes next. */
static inline bool scanner_take_word(struct scanner *scanner, const char *word)
{
    size_t length = strlen(word);
    if (scanner_word(scanner) != length || memcmp(scanner->at, word, length) != 0)
        return false;
    scanner->at += length;
    return true;
}

/* An integer: decimal or 0x…, with a sign, at most 64 bits. */
bool scanner_integer(struct scanner *scanner, int64_t *value);

/* The same within bounds. */
bool scanner_integer_within(struct scanner *scanner, int64_t low, int64_t high, int64_t *value);

#endif
