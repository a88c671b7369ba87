#include "codegen/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of the text under the cursor; never NUL-terminated. */
struct slice {
    const char *data;
    size_t size;
};

static struct slice take_until(const char **cursor, const char *stops)
{
    size_t size = strcspn(*cursor, stops);
    struct slice slice = {*cursor, size};
    *cursor += size;
    return slice;
}

static bool slice_equals(struct slice slice, const char *text)
{
    return strlen(text) == slice.size && memcmp(slice.data, text, slice.size) == 0;
}

static void format_value(const struct field *field, size_t choice, struct bytes *text)
{
    switch (field->kind) {
    case FIELD_INTEGER:
        bytes_append_format(text, "%d", field->integers[choice]);
        break;
    case FIELD_BOOLEAN:
        bytes_append_format(text, "%zu", choice);
        break;
    case FIELD_NAME:
        bytes_append_text(text, field->names[choice]);
        break;
    }
}

/* "unknown WHAT 'given'; known: a, b, c" */
static dsajit_status unknown(dsajit_error *error, const char *what, struct slice given,
                             struct bytes *known)
{
    dsajit_status status =
        bytes_failed(known)
            ? error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to read a variant")
            : error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "unknown %s '%.*s'; known: %s", what,
                        (int)(given.size < 64 ? given.size : 64), given.data, bytes_text(known));
    bytes_free(known);
    return status;
}

static void list_add(struct bytes *list, const char *word)
{
    bytes_append_format(list, "%s%s", list->size ? ", " : "", word);
}

static dsajit_status parse_family(struct slice name, struct selection *selection,
                                  dsajit_error *error)
{
    struct bytes known = {0};
    for (size_t i = 0; i < family_count; i++) {
        if (slice_equals(name, families[i].name)) {
            selection->fixed.family = (uint8_t)i;
            selection->any_family = false;
            bytes_free(&known);
            return DSAJIT_OK;
        }
        list_add(&known, families[i].name);
    }
    return unknown(error, "kernel family", name, &known);
}

static dsajit_status parse_architecture(struct slice name, struct selection *selection,
                                        dsajit_error *error)
{
    struct bytes known = {0};
    if (name.size == 0)
        return DSAJIT_OK;
    for (size_t i = 0; i < architecture_count; i++) {
        if (slice_equals(name, architectures[i])) {
            selection->fixed.architecture = (uint8_t)i;
            selection->any_architecture = false;
            bytes_free(&known);
            return DSAJIT_OK;
        }
        list_add(&known, architectures[i]);
    }
    return unknown(error, "architecture", name, &known);
}

static dsajit_status parse_value(const struct field *field, struct slice value, uint8_t *choice,
                                 dsajit_error *error)
{
    struct bytes known = {0};
    for (size_t i = 0; i < field->count; i++) {
        size_t before = known.size ? known.size + strlen(", ") : 0;
        list_add(&known, "");
        format_value(field, i, &known);
        if (bytes_failed(&known))
            break;
        if (slice_equals(value, bytes_text(&known) + before)) {
            *choice = (uint8_t)i;
            bytes_free(&known);
            return DSAJIT_OK;
        }
    }
    char what[64];
    snprintf(what, sizeof what, "value of %s", field->name);
    return unknown(error, what, value, &known);
}

static dsajit_status parse_field(struct slice name, struct slice value, struct selection *selection,
                                 dsajit_error *error)
{
    const struct family *family = &families[selection->fixed.family];
    struct bytes known = {0};
    for (size_t i = 0; i < family->field_count; i++) {
        if (slice_equals(name, family->fields[i].name)) {
            bytes_free(&known);
            if (!selection->any[i])
                return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "field %s is given twice",
                                 family->fields[i].name);
            selection->any[i] = false;
            return parse_value(&family->fields[i], value, &selection->fixed.choices[i], error);
        }
        list_add(&known, family->fields[i].name);
    }
    return unknown(error, "field", name, &known);
}

dsajit_status selection_parse(const char *text, struct selection *selection, dsajit_error *error)
{
    *selection = (struct selection){.any_family = true, .any_architecture = true};
    memset(selection->any, true, sizeof selection->any);
    const char *cursor = text ? text : "";
    if (!*cursor)
        return DSAJIT_OK;
    dsajit_status status = parse_family(take_until(&cursor, "/"), selection, error);
    if (status || !*cursor++)
        return status;
    status = parse_architecture(take_until(&cursor, "/"), selection, error);
    if (status || !*cursor++)
        return status;
    while (*cursor) {
        struct slice name = take_until(&cursor, "=,");
        if (*cursor != '=')
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "'%.*s' has no '=value'",
                             (int)(name.size < 64 ? name.size : 64), name.data);
        cursor++;
        struct slice value = take_until(&cursor, ",");
        status = parse_field(name, value, selection, error);
        if (status)
            return status;
        if (*cursor)
            cursor++;
    }
    return DSAJIT_OK;
}

bool selection_matches(const struct selection *selection, const struct variant *variant)
{
    if (!selection->any_family && selection->fixed.family != variant->family)
        return false;
    if (variant_refusal(variant))
        return false;
    if (!selection->any_architecture && selection->fixed.architecture != variant->architecture)
        return false;
    for (size_t i = 0; i < families[variant->family].field_count; i++)
        if (!selection->any[i] && selection->fixed.choices[i] != variant->choices[i])
            return false;
    return true;
}

dsajit_status variant_parse(const char *text, struct variant *variant, dsajit_error *error)
{
    struct selection selection;
    dsajit_status status = selection_parse(text, &selection, error);
    if (status)
        return status;
    if (selection.any_family || selection.any_architecture)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "'%.200s' is no variant: FAMILY/ARCHITECTURE/FIELD=VALUE,… is wanted",
                         text ? text : "");
    const struct family *family = &families[selection.fixed.family];
    for (size_t i = 0; i < family->field_count; i++)
        if (selection.any[i])
            return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                             "'%.200s' does not say %s, which %s needs", text,
                             family->fields[i].name, family->name);
    const char *refusal = variant_refusal(&selection.fixed);
    if (refusal)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "'%.200s': %s", text, refusal);
    *variant = selection.fixed;
    return DSAJIT_OK;
}

void variant_format(const struct variant *variant, struct bytes *text)
{
    const struct family *family = &families[variant->family];
    bytes_append_format(text, "%s/%s/", family->name, architectures[variant->architecture]);
    for (size_t i = 0; i < family->field_count; i++) {
        bytes_append_format(text, "%s%s=", i ? "," : "", family->fields[i].name);
        format_value(&family->fields[i], variant->choices[i], text);
    }
}

int variant_value(const struct variant *variant, size_t field)
{
    const struct field *spec = &families[variant->family].fields[field];
    size_t choice = variant->choices[field];
    return spec->kind == FIELD_INTEGER ? spec->integers[choice] : (int)choice;
}

bool variant_set(struct variant *variant, size_t field, int value)
{
    const struct field *spec = &families[variant->family].fields[field];
    for (size_t i = 0; i < spec->count; i++) {
        if ((spec->kind == FIELD_INTEGER ? spec->integers[i] : (int)i) == value) {
            variant->choices[field] = (uint8_t)i;
            return true;
        }
    }
    return false;
}

const char *variant_refusal(const struct variant *variant)
{
    const struct family *family = &families[variant->family];
    return family->refuse ? family->refuse(variant) : NULL;
}

size_t variant_count(size_t family)
{
    size_t count = architecture_count;
    for (size_t i = 0; i < families[family].field_count; i++)
        count *= families[family].fields[i].count;
    return count;
}

size_t variant_index(const struct variant *variant)
{
    const struct family *family = &families[variant->family];
    size_t index = variant->architecture;
    for (size_t i = 0; i < family->field_count; i++)
        index = index * family->fields[i].count + variant->choices[i];
    return index;
}

void variant_at(size_t family, size_t index, struct variant *variant)
{
    *variant = (struct variant){.family = (uint8_t)family};
    for (size_t i = families[family].field_count; i-- > 0;) {
        size_t count = families[family].fields[i].count;
        variant->choices[i] = (uint8_t)(index % count);
        index /= count;
    }
    variant->architecture = (uint8_t)index;
}
