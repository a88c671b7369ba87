/* dsajit cache show: all that an entry holds. */
#include "cache_entry.h"
#include "entry_lookup.h"
#include "failure.h"
#include "members.h"
#include "operands.h"

#include <dsajit/inspect.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct show_options {
    struct operands operands;
    const char *path;    /* --inspect; NULL: not given */
    const char *section; /* to be written as it is; NULL: none */
    bool source, isa;
};

enum { OPTION_INSPECT = 256, OPTION_SOURCE, OPTION_ISA, OPTION_SECTION };

static const struct argp_option option_table[] = {
    {"inspect", OPTION_INSPECT, "FILE", 0, "Show this file, wherever it lies", 0},
    {"source", OPTION_SOURCE, NULL, 0,
     "Print the source it was compiled from instead, if the templates are still the same", 0},
    {"isa", OPTION_ISA, NULL, 0, "Print the disassembly of its code instead", 0},
    {"section", OPTION_SECTION, "NAME", 0,
     "Write one of its sections as it is instead: \"code\" is the code object", 0},
    {0},
};

static void check_usage(const struct show_options *options, const struct argp_state *state)
{
    if (!options->path == !options->operands.items[0])
        argp_error(state, "either a VARIANT or FILE, or --inspect FILE");
    if (options->source + options->isa + (options->section != NULL) > 1)
        argp_error(state, "--source, --isa and --section exclude each other");
    if (options->section && options->operands.common.json)
        argp_error(state, "--section writes bytes, which --json can't");
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_show(int key, char *argument, struct argp_state *state)
{
    struct show_options *options = state->input;
    switch (key) {
    case OPTION_INSPECT:
        options->path = argument;
        return 0;
    case OPTION_SOURCE:
        options->source = true;
        return 0;
    case OPTION_ISA:
        options->isa = true;
        return 0;
    case OPTION_SECTION:
        options->section = argument;
        return 0;
    case ARGP_KEY_END:
        check_usage(options, state);
        return 0;
    default:
        return operands_parse(key, argument, state);
    }
}

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_show_argp = {
    .options = option_table,
    .parser = parse_show,
    .args_doc = "VARIANT|FILE\n--inspect FILE",
    .doc = "Show what a cache entry holds: its key, the toolchain that made it, the kernel's "
           "resources, sizes and what the compiler said. The exit code is 4 when there is no such "
           "entry or it is damaged.",
    .children = children,
};

/* What is kept of an entry, which is gone when it has been shown. */
struct shown {
    const char *section;  /* wanted, beside "code" */
    json_t *entry;        /* cache_entry_json's, with key, toolchain, log and sections */
    json_t *sections;     /* name and size of each */
    dsajit_text contents; /* of `section` or "code"; data NULL when there is none */
};

static const dsajit_cache_section *find_section(const dsajit_cache_entry *entry, const char *name)
{
    for (size_t i = 0; i < entry->section_count; i++)
        if (strcmp(entry->sections[i].name, name) == 0)
            return &entry->sections[i];
    return NULL;
}

static void keep_contents(const dsajit_cache_section *section, dsajit_text *contents)
{
    if (!section || !(contents->data = malloc(section->size + 1)))
        return;
    memcpy(contents->data, section->data, section->size);
    contents->data[section->size] = '\0';
    contents->size = section->size;
}

static bool keep(void *user, const dsajit_cache_entry *entry)
{
    struct shown *shown = user;
    shown->entry = cache_entry_json(entry);
    shown->sections = json_object();
    for (size_t i = 0; i < entry->section_count; i++)
        json_object_set_new(shown->sections, entry->sections[i].name,
                            json_integer((json_int_t)entry->sections[i].size));
    const dsajit_cache_section *log = find_section(entry, "log");
    /* A log that is no UTF-8 can't be JSON. */
    json_t *said = log ? json_stringn(log->data, log->size) : NULL;
    json_object_set_new(shown->entry, "key", json_string(entry->key_base));
    json_object_set_new(shown->entry, "toolchain", json_string(entry->key_toolchain));
    json_object_set_new(shown->entry, "log", said ? said : json_null());
    json_object_set(shown->entry, "sections", shown->sections);
    keep_contents(find_section(entry, shown->section ? shown->section : "code"), &shown->contents);
    return true;
}

static const char *member_text(const struct shown *shown, const char *name)
{
    return json_string_value(json_object_get(shown->entry, name));
}

/* ---- Source and disassembly ---- */

struct source_line {
    bool equal;
};

static bool compare_source(void *user, const dsajit_key_field *field)
{
    struct source_line *line = user;
    if (strcmp(field->name, "source") == 0)
        line->equal = field->equal;
    return true;
}

/* The key holds the source's digest: only the text that gives the same one is the entry's. */
static dsajit_status get_source(dsajit_context *context, const struct shown *shown,
                                dsajit_text *source, dsajit_error *error)
{
    const char *variant = member_text(shown, "variant");
    dsajit_text key = {0};
    struct source_line line = {false};
    if (!variant)
        return failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s is no kernel: it has no source",
                           member_text(shown, "path"));
    dsajit_status status = dsajit_get_key(context, variant, &key, error);
    if (!status)
        status = dsajit_cache_compare_keys(member_text(shown, "key"), key.data, compare_source,
                                           &line, error);
    if (!status && !line.equal)
        status = failure_set(error, DSAJIT_ERROR_NOT_FOUND,
                             "%s was compiled from another source than this library makes of %s",
                             member_text(shown, "path"), variant);
    if (!status)
        status = dsajit_get_source(context, variant, source, error);
    dsajit_text_free(&key);
    return status;
}

static dsajit_status get_isa(dsajit_context *context, const struct shown *shown, dsajit_text *isa,
                             dsajit_error *error)
{
    if (!shown->contents.data)
        return failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s holds no code",
                           member_text(shown, "path"));
    return dsajit_disassemble(context, shown->contents.data, shown->contents.size, isa, error);
}

/* The text or bytes that are wanted instead of a description; its name, or NULL when none is. */
static const char *wanted_part(const struct show_options *options)
{
    return options->source ? "source" : options->isa ? "isa" : options->section;
}

static dsajit_status get_part(const struct show_options *options, dsajit_context *context,
                              struct shown *shown, dsajit_text *part, dsajit_error *error)
{
    if (options->source)
        return get_source(context, shown, part, error);
    if (options->isa)
        return get_isa(context, shown, part, error);
    if (!shown->contents.data)
        return failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s has no section %s",
                           member_text(shown, "path"), options->section);
    *part = shown->contents;
    shown->contents = (dsajit_text){0};
    return DSAJIT_OK;
}

/* ---- The command ---- */

/* Puts a date in the place of a number of seconds. */
static void write_date(json_t *entry, const char *name)
{
    const json_t *seconds = json_object_get(entry, name);
    const time_t moment = (time_t)json_integer_value(seconds);
    char text[32];
    struct tm parts;
    if (json_is_integer(seconds) && gmtime_r(&moment, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts))
        json_object_set_new(entry, name, json_string(text));
}

static void print_text(struct shown *shown)
{
    enum { WIDTH = 16 };
    write_date(shown->entry, "used");
    write_date(shown->entry, "created");
    members_print(shown->entry, WIDTH);
    puts("  sections");
    const char *name;
    json_t *size;
    json_object_foreach(shown->sections, name, size)
    {
        printf("    %-14s%" JSON_INTEGER_FORMAT " bytes\n", name, json_integer_value(size));
    }
}

static void print(const struct show_options *options, struct shown *shown, const dsajit_text *part)
{
    const char *name = wanted_part(options);
    if (options->operands.common.json) {
        json_t *object = command_json("cache show");
        json_object_set(object, "entry", shown->entry);
        if (name)
            json_object_set_new(object, name, json_stringn(part->data, part->size));
        command_print_json(object);
    } else if (name) {
        fwrite(part->data, 1, part->size, stdout);
    } else {
        print_text(shown);
    }
}

static dsajit_status show_path(const struct show_options *options, dsajit_context *context,
                               const char *path, struct shown *shown, int *code,
                               dsajit_error *error)
{
    dsajit_text part = {0};
    dsajit_status status = dsajit_cache_inspect(path, keep, shown, error);
    if (!status && wanted_part(options))
        status = get_part(options, context, shown, &part, error);
    if (!status) {
        print(options, shown, &part);
        *code = strcmp(member_text(shown, "state"), "ok") == 0 ? EXIT_DONE : EXIT_NOT_WARM;
    }
    dsajit_text_free(&part);
    return status;
}

static dsajit_status show(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct show_options *options = user;
    struct shown shown = {.section = options->section};
    char *found = NULL;
    dsajit_status status = DSAJIT_OK;
    if (!options->path)
        status = entry_lookup(context, options->operands.items[0], &found, error);
    if (!status)
        status =
            show_path(options, context, options->path ? options->path : found, &shown, code, error);
    if (status == DSAJIT_ERROR_NOT_FOUND)
        *code = EXIT_NOT_WARM;
    dsajit_text_free(&shown.contents);
    json_decref(shown.sections);
    json_decref(shown.entry);
    free(found);
    return status;
}

int run_cache_show(int argc, char **argv)
{
    struct show_options options = {.operands = {.most = 1}};
    if (argp_parse(&cache_show_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.operands.common, "cache show", show, &options);
}
