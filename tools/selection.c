#include "selection.h"

#include "failure.h"
#include "plan_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_ARCH = 512, /* the fields' options follow it */
    OPTION_FIELDS,
    OPTION_SELECT = OPTION_FIELDS + SELECTION_FIELD_COUNT,
    OPTION_PLAN,
    OPTION_MODEL
};

/* Without their option, fields are as the library's default plan has them. */
static const struct {
    const char *name, *usual;
} fields[] = {
    [SELECTION_HEADS] = {"heads", "1,2,4,6,8,12,16"},
    [SELECTION_HAS_INVALID] = {"has_invalid", "both"},
    [SELECTION_RETURN_LSE] = {"return_lse", "both"},
    [SELECTION_INDEX] = {"index", "i32"},
    [SELECTION_SCALE] = {"scale", "pow2"},
    [SELECTION_MATH] = {"math", "bf16"},
};

static const struct argp_option option_table[] = {
    {NULL, 0, NULL, 0,
     "The variants. Each of these adds some; without any, it is the default plan of a serving "
     "engine. A LIST has commas between its values, and \"all\" stands for every legal one:",
     1},
    {"arch", OPTION_ARCH, "LIST", 0, "Sparse MLA for these GPU architectures (gfx950)", 1},
    {"heads", OPTION_FIELDS + SELECTION_HEADS, "LIST", 0,
     "Sparse MLA with these numbers of heads (1,2,4,6,8,12,16)", 1},
    {"has-invalid", OPTION_FIELDS + SELECTION_HAS_INVALID, "0|1|both", 0,
     "Sparse MLA with or without masked entries (both)", 1},
    {"return-lse", OPTION_FIELDS + SELECTION_RETURN_LSE, "0|1|both", 0,
     "Sparse MLA with or without the log-sum-exp (both)", 1},
    {"index", OPTION_FIELDS + SELECTION_INDEX, "i32|i64|both", 0,
     "Sparse MLA with index tensors of this type (i32)", 1},
    {"scale", OPTION_FIELDS + SELECTION_SCALE, "pow2|any|both", 0,
     "Sparse MLA that reads the records' scales by this rule (pow2)", 1},
    {"math", OPTION_FIELDS + SELECTION_MATH, "LIST", 0,
     "Sparse MLA with dot products of this type (bf16)", 1},
    {"select", OPTION_SELECT, "SELECTION", 0,
     "What a selection covers, \"sparse_mla/gfx950/heads=8\" for instance; \"\" is every variant "
     "there is. May be given several times",
     1},
    {"plan", OPTION_PLAN, "FILE", 0,
     "What a plan file lists: {\"schema\": 1, \"variants\": [SELECTION, ...]}. May be given "
     "several times",
     1},
    {"model", OPTION_MODEL, "CONFIG.JSON", 0, "What a rank of this model needs", 1},
    {0},
};

static bool append(struct selection_list *list, const char *item)
{
    const char **items = reallocarray(list->items, list->count + 1, sizeof *items);
    if (!items)
        return false;
    list->items = items;
    items[list->count++] = item;
    return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_selection(int key, char *argument, struct argp_state *state)
{
    struct selection_options *options = state->input;
    if (key >= OPTION_FIELDS && key < OPTION_FIELDS + SELECTION_FIELD_COUNT) {
        options->fields[key - OPTION_FIELDS] = argument;
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->layout;
        return 0;
    case OPTION_ARCH:
        options->architectures = argument;
        return 0;
    case OPTION_SELECT:
        return append(&options->selections, argument) ? 0 : ENOMEM;
    case OPTION_PLAN:
        return append(&options->plan_files, argument) ? 0 : ENOMEM;
    case OPTION_MODEL:
        options->model = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->layout.option && !options->model)
            argp_error(state, "--%s needs --model", options->layout.option);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&model_layout_argp, 0, NULL, 1}, {0}};

const struct argp selection_argp = {
    .options = option_table, .parser = parse_selection, .children = children};

void selection_free(struct selection_options *options)
{
    free(options->selections.items);
    free(options->plan_files.items);
}

static bool is_everything(const char *list)
{
    return strcmp(list, "all") == 0 || strcmp(list, "both") == 0;
}

/* Adds every combination of the values from `field` on; `text` is the selection so far. */
static dsajit_status add_combinations(const struct selection_options *options, size_t field,
                                      const char *text, dsajit_plan *plan, dsajit_error *error)
{
    if (field == SELECTION_FIELD_COUNT)
        return dsajit_plan_add(plan, text, error);
    const char *values = options->fields[field] ? options->fields[field] : fields[field].usual;
    if (is_everything(values))
        return add_combinations(options, field + 1, text, plan, error);
    const char *separator = text[strlen(text) - 1] == '/' ? "" : ",";
    dsajit_status status = DSAJIT_OK;
    for (const char *value = values; !status; value++) {
        const size_t size = strcspn(value, ",");
        char *longer;
        if (asprintf(&longer, "%s%s%s=%.*s", text, separator, fields[field].name, (int)size,
                     value) < 0)
            return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a selection");
        status = add_combinations(options, field + 1, longer, plan, error);
        free(longer);
        value += size;
        if (!*value)
            break;
    }
    return status;
}

static dsajit_status add_sparse_mla(const struct selection_options *options, dsajit_plan *plan,
                                    dsajit_error *error)
{
    const char *list = options->architectures ? options->architectures : "gfx950";
    if (is_everything(list))
        list = ""; /* an architecture left out of a selection stands for all */
    dsajit_status status = DSAJIT_OK;
    for (const char *name = list; !status; name++) {
        const size_t size = strcspn(name, ",");
        char *text;
        if (asprintf(&text, "sparse_mla/%.*s/", (int)size, name) < 0)
            return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a selection");
        status = add_combinations(options, 0, text, plan, error);
        free(text);
        name += size;
        if (!*name)
            break;
    }
    return status;
}

static bool names_sparse_mla(const struct selection_options *options)
{
    bool named = options->architectures != NULL;
    for (size_t i = 0; i < SELECTION_FIELD_COUNT; i++)
        named = named || options->fields[i];
    return named;
}

bool selection_is_empty(const struct selection_options *options)
{
    return !names_sparse_mla(options) && !options->selections.count && !options->plan_files.count &&
           !options->model;
}

static dsajit_status add_model(const struct selection_options *options, dsajit_plan *plan,
                               dsajit_error *error)
{
    dsajit_model model;
    dsajit_status status = model_file_read(options->model, &options->layout, &model, error);
    return status ? status : dsajit_plan_add_model(plan, &model, error);
}

static dsajit_status add_all(const struct selection_options *options, dsajit_plan *plan,
                             dsajit_error *error)
{
    if (selection_is_empty(options))
        return dsajit_plan_add_default(plan, error);
    dsajit_status status =
        names_sparse_mla(options) ? add_sparse_mla(options, plan, error) : DSAJIT_OK;
    for (size_t i = 0; !status && i < options->selections.count; i++)
        status = dsajit_plan_add(plan, options->selections.items[i], error);
    for (size_t i = 0; !status && i < options->plan_files.count; i++)
        status = plan_file_add(options->plan_files.items[i], plan, error);
    if (!status && options->model)
        status = add_model(options, plan, error);
    return status;
}

dsajit_status selection_build_plan(const struct selection_options *options, dsajit_plan **plan,
                                   dsajit_error *error)
{
    dsajit_status status = dsajit_plan_create(plan, error);
    if (!status)
        status = add_all(options, *plan, error);
    if (status) {
        dsajit_plan_free(*plan);
        *plan = NULL;
    }
    return status;
}
