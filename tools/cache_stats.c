/* dsajit cache stats and path: the layers and what is in them. */
#include "failure.h"
#include "operands.h"
#include "quantity.h"

#include <dsajit/cache.h>
#include <dsajit/inspect.h>

#include <stdio.h>

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp cache_stats_argp = {
    .parser = operands_parse,
    .doc = "Count what is in each layer of the cache, without reading it.",
    .children = children,
};
const struct argp cache_path_argp = {
    .parser = operands_parse,
    .doc = "Print the writable cache directory, having made it where it was missing. The exit code "
           "is 5 when it can't be used.",
    .children = children,
};

/* ---- stats ---- */

static const char *kind_name(dsajit_layer_kind kind)
{
    return kind == DSAJIT_LAYER_WRITABLE ? "writable" : "prebuilt";
}

static void print_stats(const dsajit_cache_statistics *statistics)
{
    for (size_t i = 0; i < statistics->layer_count; i++) {
        const dsajit_layer_statistics *layer = &statistics->layers[i];
        printf("%s (%s)\n", layer->directory, kind_name(layer->kind));
        printf("  %ju entries, %s", (uintmax_t)layer->entries,
               size_format(layer->entry_bytes).text);
        if (layer->kind == DSAJIT_LAYER_WRITABLE && statistics->max_bytes)
            printf(" of %s at most", size_format(statistics->max_bytes).text);
        printf("\n  %ju damaged ones moved aside, %ju leftovers of writers, %ju locks\n",
               (uintmax_t)layer->quarantined, (uintmax_t)layer->leftovers, (uintmax_t)layer->locks);
    }
}

static void print_stats_json(const dsajit_cache_statistics *statistics)
{
    json_t *object = command_json("cache stats");
    json_t *layers = json_array();
    for (size_t i = 0; i < statistics->layer_count; i++) {
        const dsajit_layer_statistics *layer = &statistics->layers[i];
        json_array_append_new(
            layers,
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "directory", layer->directory,
                      "layer_kind", kind_name(layer->kind), "entries", (json_int_t)layer->entries,
                      "entry_bytes", (json_int_t)layer->entry_bytes, "quarantined",
                      (json_int_t)layer->quarantined, "leftovers", (json_int_t)layer->leftovers,
                      "locks", (json_int_t)layer->locks));
    }
    json_object_set_new(object, "layers", layers);
    json_object_set_new(object, "max_bytes",
                        statistics->max_bytes ? json_integer((json_int_t)statistics->max_bytes)
                                              : json_null());
    command_print_json(object);
}

static dsajit_status stats(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct operands *options = user;
    dsajit_cache_statistics statistics;
    (void)code;
    dsajit_status status = dsajit_cache_get_statistics(context, &statistics, error);
    if (status)
        return status;
    if (options->common.json)
        print_stats_json(&statistics);
    else
        print_stats(&statistics);
    dsajit_cache_statistics_free(&statistics);
    return DSAJIT_OK;
}

int run_cache_stats(int argc, char **argv)
{
    struct operands options = {0};
    if (argp_parse(&cache_stats_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.common, "cache stats", stats, &options);
}

/* ---- path ---- */

static void print_path(const struct operands *options, const dsajit_cache_info *info)
{
    if (!options->common.json) {
        puts(info->directory);
        return;
    }
    json_t *object = command_json("cache path");
    json_t *prebuilt = json_array();
    for (const char *const *layer = info->prebuilt; layer && *layer; layer++)
        json_array_append_new(prebuilt, json_string(*layer));
    json_object_set_new(object, "directory", json_string(info->directory));
    json_object_set_new(object, "prebuilt", prebuilt);
    command_print_json(object);
}

static dsajit_status path(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    dsajit_cache_info info;
    (void)code;
    dsajit_status status = dsajit_get_cache_info(context, &info, error);
    if (!status && !info.directory)
        status =
            failure_set(error, DSAJIT_ERROR_CACHE_UNUSABLE, "no cache directory: %s", info.problem);
    if (!status)
        print_path(user, &info);
    return status;
}

int run_cache_path(int argc, char **argv)
{
    struct operands options = {0};
    if (argp_parse(&cache_path_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.common, "cache path", path, &options);
}
