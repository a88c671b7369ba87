#include "codegen/specialise.h"

#include "builtin_templates.h"

#include <ctype.h>
#include <string.h>

const char *const codegen_options[] = {"-O3", "-std=c++17", NULL};

static dsajit_status read_builtin(void *user, const char *name, struct bytes *text,
                                  dsajit_error *error)
{
    (void)user;
    for (size_t i = 0; i < builtin_files_count; i++) {
        if (strcmp(builtin_files[i].name, name) == 0) {
            bytes_append(text, builtin_files[i].bytes, builtin_files[i].size);
            return DSAJIT_OK;
        }
    }
    return error_set(error, DSAJIT_ERROR_NOT_FOUND, "no built-in template '%s'", name);
}

const struct template_source builtin_templates = {read_builtin, NULL};

void codegen_symbol(const struct variant *variant, struct bytes *text)
{
    bytes_append_text(text, "dsajit_");
    size_t start = text->size;
    variant_format(variant, text);
    for (size_t i = start; i < text->size; i++)
        if (!isalnum(text->data[i]))
            text->data[i] = '_';
}

static void append_constant(const struct variant *variant, size_t index, struct bytes *text)
{
    const struct field *field = &families[variant->family].fields[index];
    size_t choice = variant->choices[index];
    switch (field->kind) {
    case FIELD_INTEGER:
        bytes_append_format(text, "constexpr int %s = %d;\n", field->name, field->integers[choice]);
        break;
    case FIELD_BOOLEAN:
        bytes_append_format(text, "constexpr bool %s = %s;\n", field->name,
                            choice ? "true" : "false");
        break;
    case FIELD_NAME:
        bytes_append_format(text, "enum class %s_values {", field->name);
        for (size_t i = 0; i < field->count; i++)
            bytes_append_format(text, "%s %s", i ? "," : "", field->names[i]);
        bytes_append_format(text, " };\nconstexpr %s_values %s = %s_values::%s;\n", field->name,
                            field->name, field->name, field->names[choice]);
        break;
    }
}

static void append_prologue(const struct variant *variant, struct bytes *text)
{
    bytes_append_text(text, "// ");
    variant_format(variant, text);
    bytes_append_text(text, "\n#define DSAJIT_KERNEL ");
    codegen_symbol(variant, text);
    bytes_append_text(text, "\nnamespace variant {\n");
    for (size_t i = 0; i < families[variant->family].field_count; i++)
        append_constant(variant, i, text);
    bytes_append_text(text, "} // namespace variant\n");
}

/* The state of flattening: which files are in already. */
struct flatten {
    const struct template_source *templates;
    struct bytes included; /* names, each followed by a NUL */
    struct bytes *text;
    dsajit_error *error;
};

static bool already_included(const struct flatten *flatten, const char *name)
{
    for (size_t at = 0; at < flatten->included.size;) {
        const char *entry = (const char *)flatten->included.data + at;
        if (strcmp(entry, name) == 0)
            return true;
        at += strlen(entry) + 1;
    }
    return false;
}

/* If `line` is `#include "NAME"`, gives NAME's place and length. */
static bool parse_include(const char *line, size_t size, const char **name, size_t *name_size)
{
    static const char directive[] = "#include \"";
    if (size < sizeof directive || memcmp(line, directive, sizeof directive - 1) != 0)
        return false;
    *name = line + sizeof directive - 1;
    const char *end = memchr(*name, '"', size - (sizeof directive - 1));
    if (!end)
        return false;
    *name_size = (size_t)(end - *name);
    return true;
}

static bool is_pragma_once(const char *line, size_t size)
{
    static const char directive[] = "#pragma once";
    return size >= sizeof directive - 1 && memcmp(line, directive, sizeof directive - 1) == 0;
}

static dsajit_status fail_without_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a kernel's source");
}

static dsajit_status flatten_file(struct flatten *flatten, const char *name);

static dsajit_status flatten_include(struct flatten *flatten, const char *name, size_t name_size)
{
    struct bytes copy = {0};
    bytes_append(&copy, name, name_size);
    dsajit_status status = bytes_failed(&copy) ? fail_without_memory(flatten->error)
                                               : flatten_file(flatten, bytes_text(&copy));
    bytes_free(&copy);
    return status;
}

/* Appends a file, each #include replaced by the file it names the first time and by nothing later.
   #line directives keep the compiler's messages pointing into templates/. */
static dsajit_status flatten_file(struct flatten *flatten, const char *name)
{
    if (already_included(flatten, name))
        return DSAJIT_OK;
    bytes_append(&flatten->included, name, strlen(name) + 1);
    if (bytes_failed(&flatten->included))
        return fail_without_memory(flatten->error);
    struct bytes file = {0};
    dsajit_status status =
        flatten->templates->read(flatten->templates->user, name, &file, flatten->error);
    /* What is missing would be another source, perhaps one that compiles. */
    if (!status && bytes_failed(&file))
        status = fail_without_memory(flatten->error);
    bytes_append_format(flatten->text, "#line 1 \"%s\"\n", name);
    const char *line = bytes_text(&file), *end = line + file.size;
    for (size_t number = 1; !status && line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = newline ? (size_t)(newline - line) + 1 : (size_t)(end - line);
        const char *included;
        size_t included_size;
        if (parse_include(line, size, &included, &included_size)) {
            status = flatten_include(flatten, included, included_size);
            bytes_append_format(flatten->text, "#line %zu \"%s\"\n", number + 1, name);
        } else if (!is_pragma_once(line, size)) {
            bytes_append(flatten->text, line, size);
        }
        line += size;
    }
    bytes_free(&file);
    return status;
}

dsajit_status codegen_specialise(const struct variant *variant,
                                 const struct template_source *templates, struct bytes *text,
                                 dsajit_error *error)
{
    append_prologue(variant, text);
    struct flatten flatten = {.templates = templates, .text = text, .error = error};
    dsajit_status status = flatten_file(&flatten, families[variant->family].template_name);
    if (!status && bytes_failed(text))
        status = fail_without_memory(error);
    bytes_free(&flatten.included);
    return status;
}
