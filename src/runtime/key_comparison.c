#include "runtime/key_comparison.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Another variant's entry explains less than this variant's by another compiler or template. */
enum { VARIANT_PART_WEIGHT = 4 };

struct line {
    const char *name, *value;
};

struct lines {
    char *text; /* the key's copy that the lines point into */
    struct line *lines;
    size_t count;
};

static void free_lines(struct lines *lines)
{
    free(lines->text);
    free(lines->lines);
}

static size_t count_newlines(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static dsajit_status split(const char *key, struct lines *lines, dsajit_error *error)
{
    *lines = (struct lines){.text = strdup(key)};
    lines->lines = calloc(count_newlines(key) + 1, sizeof *lines->lines);
    if (!lines->text || !lines->lines)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to compare keys");
    char *rest = NULL;
    for (char *line = strtok_r(lines->text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *equals = strchr(line, '=');
        if (!equals)
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "'%.80s' is no line of a key: name=value", line);
        *equals = '\0';
        lines->lines[lines->count++] = (struct line){line, equals + 1};
    }
    return DSAJIT_OK;
}

static const char *find_value(const struct lines *lines, const char *name)
{
    for (size_t i = 0; i < lines->count; i++) {
        if (!strcmp(lines->lines[i].name, name))
            return lines->lines[i].value;
    }
    return NULL;
}

/* Shows the fields of both; false when the function has had enough. */
static void show_fields(const struct lines *wanted, const struct lines *found,
                        bool (*function)(void *user, const dsajit_key_field *field), void *user)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const struct line *line = &wanted->lines[i];
        const char *other = find_value(found, line->name);
        const dsajit_key_field field = {line->name, line->value, other,
                                        other && !strcmp(line->value, other)};
        if (!function(user, &field))
            return;
    }
    for (size_t i = 0; i < found->count; i++) {
        const struct line *line = &found->lines[i];
        const dsajit_key_field field = {line->name, NULL, line->value, false};
        if (!find_value(wanted, line->name) && !function(user, &field))
            return;
    }
}

dsajit_status dsajit_cache_compare_keys(const char *wanted, const char *found,
                                        bool (*function)(void *user, const dsajit_key_field *field),
                                        void *user, dsajit_error *error)
{
    if (!wanted || !found || !function)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL",
                         !wanted  ? "wanted"
                         : !found ? "found"
                                  : "function");
    struct lines wanted_lines, found_lines = {0};
    dsajit_status status = split(wanted, &wanted_lines, error);
    if (!status)
        status = split(found, &found_lines, error);
    if (!status)
        show_fields(&wanted_lines, &found_lines, function, user);
    free_lines(&wanted_lines);
    free_lines(&found_lines);
    return status;
}

/* The parts "FAMILY/ARCHITECTURE/FIELD=VALUE,…" at which two variants differ. */
static size_t count_different_parts(const char *a, const char *b)
{
    static const char separators[] = "/,";
    size_t count = 0;
    while (*a || *b) {
        size_t a_size = strcspn(a, separators), b_size = strcspn(b, separators);
        count += a_size != b_size || strncmp(a, b, a_size) != 0;
        a += a_size + (a[a_size] != '\0');
        b += b_size + (b[b_size] != '\0');
    }
    return count;
}

struct difference {
    size_t lines, weight;
};

static bool add_difference(void *user, const dsajit_key_field *field)
{
    struct difference *difference = user;
    if (field->equal)
        return true;
    bool is_variant = !strcmp(field->name, "variant") && field->wanted && field->found;
    difference->lines++;
    difference->weight +=
        is_variant ? VARIANT_PART_WEIGHT * count_different_parts(field->wanted, field->found) : 1;
    return true;
}

dsajit_status key_difference(const char *wanted, const char *found, size_t *lines, size_t *weight,
                             dsajit_error *error)
{
    struct difference difference = {0};
    dsajit_status status =
        dsajit_cache_compare_keys(wanted, found, add_difference, &difference, error);
    *lines = difference.lines;
    *weight = difference.weight;
    return status;
}

char *key_value(const char *key, const char *name)
{
    size_t size = strlen(name);
    while (*key) {
        size_t line_size = strcspn(key, "\n");
        if (line_size > size && key[size] == '=' && !strncmp(key, name, size))
            return strndup(key + size + 1, line_size - size - 1);
        key += line_size + (key[line_size] != '\0');
    }
    return NULL;
}
