#include "survey.h"

#include "failure.h"

#include <dsajit/cache.h>
#include <dsajit/inspect.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a look-up says of a damaged entry is a warning of the library. */
struct listener {
    struct common_options *common;
    char warning[1024]; /* the last one; "": none since it was cleared */
};

static void listen(void *user, dsajit_log_level level, const char *message)
{
    struct listener *listener = user;
    if (level == DSAJIT_LOG_WARNING)
        snprintf(listener->warning, sizeof listener->warning, "%s", message);
    command_log(listener->common, level, message);
}

/* True when a warmup would compile although there is an entry. A writable directory that is looked
   at as a prebuilt one offers what other toolchains made too. */
static bool is_outdated(const dsajit_cache_explanation *explanation, const char *writable,
                        bool toolchain_known)
{
    if (!writable || !explanation->other_toolchain || !toolchain_known)
        return false;
    const size_t size = strlen(writable);
    return strncmp(explanation->path, writable, size) == 0 && explanation->path[size] == '/';
}

static dsajit_status look_up(dsajit_context *context, struct listener *listener,
                             const char *writable, bool toolchain_known, struct survey_item *item,
                             dsajit_error *error)
{
    dsajit_cache_explanation explanation;
    listener->warning[0] = '\0';
    dsajit_status status = dsajit_cache_explain(context, item->variant, &explanation, error);
    if (status)
        return status;
    const char *reason = explanation.reason;
    if (explanation.hit && !is_outdated(&explanation, writable, toolchain_known)) {
        item->state = SURVEY_WARM;
        item->path = explanation.path;
        explanation.path = NULL;
    } else if (explanation.hit) {
        item->state = SURVEY_MISSING;
        reason = "what is there was made by another toolchain";
    } else if (listener->warning[0]) {
        item->state = SURVEY_BAD;
        reason = listener->warning;
    } else {
        item->state = SURVEY_MISSING;
    }
    item->reason = strdup(reason);
    dsajit_cache_explanation_free(&explanation);
    return item->reason ? DSAJIT_OK
                        : failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a reason");
}

/* `writable`: the prebuilt layer that stands for the writable one; NULL: none does. */
static dsajit_status look_all_up(dsajit_context *context, struct listener *listener,
                                 const dsajit_plan *plan, const char *writable,
                                 struct survey *survey, dsajit_error *error)
{
    dsajit_toolchain_info toolchain;
    const bool known = dsajit_get_toolchain_info(context, &toolchain, NULL) == DSAJIT_OK;
    survey->count = dsajit_plan_size(plan);
    survey->items = calloc(survey->count + 1, sizeof *survey->items);
    if (!survey->items)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a survey");
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < survey->count; i++) {
        struct survey_item *item = &survey->items[i];
        item->variant = dsajit_plan_variant(plan, i);
        status = look_up(context, listener, writable, known, item, error);
        survey->missing += item->state == SURVEY_MISSING;
        survey->bad += item->state == SURVEY_BAD;
    }
    return status;
}

static dsajit_status survey_with(dsajit_options *options, struct common_options *common,
                                 const dsajit_plan *plan, const char *writable,
                                 struct survey *survey, dsajit_error *error)
{
    struct listener listener = {.common = common};
    dsajit_context *context = NULL;
    *survey = (struct survey){0};
    options->device = DSAJIT_DEVICE_NONE;
    options->strict = true;
    options->log = listen;
    options->log_user = &listener;
    dsajit_status status = dsajit_open(options, &context, error);
    if (!status)
        status = look_all_up(context, &listener, plan, writable, survey, error);
    dsajit_close(context);
    if (status)
        survey_free(survey);
    return status;
}

dsajit_status survey_make(struct common_options *common, const dsajit_plan *plan,
                          struct survey *survey, dsajit_error *error)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    return survey_with(&options, common, plan, NULL, survey, error);
}

/* ---- Without a trace ---- */

struct layers {
    const char *wanted;
    char *found;
};

static bool find_setting(void *user, const dsajit_setting *setting)
{
    struct layers *layers = user;
    if (strcmp(setting->variable, layers->wanted) != 0)
        return true;
    layers->found = setting->value ? strdup(setting->value) : NULL;
    return false;
}

/* To be freed; NULL when there is none. */
static char *setting_value(const char *variable)
{
    struct layers layers = {.wanted = variable};
    dsajit_visit_settings(find_setting, &layers, NULL);
    return layers.found;
}

/* Splits `list` at its colons into `layers`, which has room for them; returns how many. */
static size_t split_list(char *list, const char **layers)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *item = list ? strtok_r(list, ":", &rest) : NULL; item;
         item = strtok_r(NULL, ":", &rest))
        layers[count++] = item;
    return count;
}

dsajit_status survey_make_dry(struct common_options *common, const dsajit_plan *plan,
                              const char *directory, struct survey *survey, dsajit_error *error)
{
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    char *writable = directory ? strdup(directory) : setting_value("DSAJIT_CACHE_DIR");
    char *list = directory ? NULL : setting_value("DSAJIT_PREBUILT_PATH");
    const char **layers = calloc((list ? strlen(list) : 0) + 3, sizeof *layers);
    dsajit_status status;
    if (!writable || !layers) {
        status = failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a survey");
    } else {
        /* Read-only, the directory is neither made nor written to. */
        size_t count = 0;
        if (access(writable, F_OK) == 0)
            layers[count++] = writable;
        split_list(list, layers + count);
        options.cache_directory = "";
        options.prebuilt = layers;
        status = survey_with(&options, common, plan, writable, survey, error);
    }
    free(layers);
    free(list);
    free(writable);
    return status;
}

void survey_free(struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        free(survey->items[i].path);
        free(survey->items[i].reason);
    }
    free(survey->items);
    *survey = (struct survey){0};
}

/* ---- Output ---- */

static const char *const state_names[] = {
    [SURVEY_WARM] = "warm",
    [SURVEY_MISSING] = "missing",
    [SURVEY_BAD] = "bad",
};

void survey_print(const struct survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        const struct survey_item *item = &survey->items[i];
        if (item->state != SURVEY_WARM)
            printf("%-8s %s: %s\n", state_names[item->state], item->variant, item->reason);
    }
}

void survey_add_json(const struct survey *survey, json_t *object)
{
    json_object_set_new(object, "total", json_integer((json_int_t)survey->count));
    json_object_set_new(object, "missing", json_integer((json_int_t)survey->missing));
    json_object_set_new(object, "bad", json_integer((json_int_t)survey->bad));
    json_t *variants = json_array();
    for (size_t i = 0; i < survey->count; i++) {
        const struct survey_item *item = &survey->items[i];
        json_array_append_new(variants, json_pack("{s:s, s:s, s:s*, s:s}", "variant", item->variant,
                                                  "state", state_names[item->state], "path",
                                                  item->path, "reason", item->reason));
    }
    json_object_set_new(object, "variants", variants);
}
