/* The public API of the cache's insides: showing, counting, keeping in order. */
#include "dsajit/cache.h"

#include "cache/prune.h"
#include "cache/quarantine.h"
#include "cache/walk.h"
#include "runtime/cache_entry.h"

#include <stdlib.h>
#include <unistd.h>

static dsajit_status refuse_null(const char *name, dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", name);
}

/* ---- Showing ---- */

dsajit_status dsajit_cache_visit(dsajit_context *context, dsajit_cache_entry_function function,
                                 void *user, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!function)
        return refuse_null("function", error);
    return entry_visit_layers(context, function, user, error);
}

dsajit_status dsajit_cache_inspect(const char *path, dsajit_cache_entry_function function,
                                   void *user, dsajit_error *error)
{
    if (!path || !function)
        return refuse_null(path ? "function" : "path", error);
    const struct entry_layer none = {NULL, DSAJIT_LAYER_NONE};
    bool more;
    return entry_show(path, &none, function, user, &more, error);
}

/* ---- Counting ---- */

static bool count_file(void *user, const struct layer_file *file)
{
    dsajit_layer_statistics *layer = user;
    layer->entries += file->kind == FILE_ENTRY;
    layer->entry_bytes += file->kind == FILE_ENTRY ? (uint64_t)file->state.st_size : 0;
    layer->quarantined += file->kind == FILE_QUARANTINED;
    layer->leftovers += file->kind == FILE_TEMPORARY;
    layer->locks += file->kind == FILE_LOCK;
    return true;
}

dsajit_status dsajit_cache_get_statistics(dsajit_context *context,
                                          dsajit_cache_statistics *statistics, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!statistics)
        return refuse_null("statistics", error);
    const size_t count = entry_layers(context, NULL, 0);
    const struct cache_counts counts = cache_counts(context->cache);
    *statistics = (dsajit_cache_statistics){
        .layers = calloc(count + 1, sizeof *statistics->layers),
        .max_bytes = cache_max_bytes(context->cache),
        .hits = context->hits,
        .misses = context->misses,
        .compiles = context->compiles,
        .waits = counts.waits,
        .wait_ms = counts.wait_ms,
        .published = counts.published,
        .publish_failures = counts.publish_failures,
        .quarantines = counts.quarantines,
        .evictions = counts.evictions,
    };
    struct entry_layer *layers = calloc(count + 1, sizeof *layers);
    if (!layers || !statistics->layers) {
        free(layers);
        dsajit_cache_statistics_free(statistics);
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for statistics");
    }
    entry_layers(context, layers, count);
    for (size_t i = 0; i < count; i++) {
        dsajit_layer_statistics *layer = &statistics->layers[i];
        layer->directory = layers[i].directory;
        layer->kind = layers[i].kind;
        walk_layer(layer->directory, count_file, layer); /* an absent layer is an empty one */
    }
    statistics->layer_count = count;
    free(layers);
    return DSAJIT_OK;
}

void dsajit_cache_statistics_free(dsajit_cache_statistics *statistics)
{
    if (!statistics)
        return;
    free(statistics->layers);
    *statistics = (dsajit_cache_statistics){0};
}

/* ---- Keeping in order ---- */

struct verifying {
    bool repair;
    dsajit_cache_entry_function function;
    void *user;
    dsajit_cache_verification *result;
    dsajit_error first; /* bad entry that stays */
};

/* True when the entry is out of the way. */
static bool repair_entry(const dsajit_cache_entry *entry)
{
    if (entry->layer_kind != DSAJIT_LAYER_WRITABLE)
        return false;
    if (entry->state == DSAJIT_ENTRY_CORRUPT)
        return quarantine_entry(entry->path, NULL, entry->problem);
    /* One of another format version is of use to the library of that version. */
    return *entry->key_base && !unlink(entry->path);
}

static bool verify_entry(void *user, const dsajit_cache_entry *entry)
{
    struct verifying *verifying = user;
    dsajit_cache_verification *result = verifying->result;
    result->good += entry->state == DSAJIT_ENTRY_OK;
    result->corrupt += entry->state == DSAJIT_ENTRY_CORRUPT;
    result->foreign += entry->state == DSAJIT_ENTRY_FOREIGN;
    const bool more = !verifying->function || verifying->function(verifying->user, entry);
    if (entry->state == DSAJIT_ENTRY_OK)
        return more;
    if (verifying->repair && repair_entry(entry))
        result->repaired++;
    else if (entry->state == DSAJIT_ENTRY_CORRUPT && !verifying->first.status)
        error_set(&verifying->first, DSAJIT_ERROR_CORRUPT, "%s: %s", entry->path, entry->problem);
    return more;
}

dsajit_status dsajit_cache_verify(dsajit_context *context, bool repair,
                                  dsajit_cache_entry_function function, void *user,
                                  dsajit_cache_verification *verification, dsajit_error *error)
{
    dsajit_cache_verification unused;
    struct verifying verifying = {
        .repair = repair,
        .function = function,
        .user = user,
        .result = verification ? verification : &unused,
    };
    *verifying.result = (dsajit_cache_verification){0};
    dsajit_status status = context_check(context, error);
    if (!status)
        status = entry_visit_layers(context, verify_entry, &verifying, error);
    if (!status && cache_directory(context->cache)) {
        const struct prune_request leftovers = {
            .max_bytes = UINT64_MAX, .unused_seconds = -1, .dry_run = !repair};
        struct prune_result result;
        status = prune_layer(context->cache, &leftovers, &result, error);
        verifying.result->leftovers = result.leftovers;
    }
    if (!status && verifying.first.status)
        status = error_set(error, verifying.first.status, "%s", verifying.first.message);
    return status;
}

static dsajit_status prune(dsajit_context *context, const struct prune_request *request,
                           dsajit_cache_pruning *pruning, dsajit_error *error)
{
    struct prune_result result;
    dsajit_status status = prune_layer(context->cache, request, &result, error);
    if (pruning)
        *pruning = (dsajit_cache_pruning){.removed = result.removed,
                                          .removed_bytes = result.removed_bytes,
                                          .kept = result.kept,
                                          .kept_bytes = result.kept_bytes,
                                          .leftovers = result.leftovers};
    return status;
}

dsajit_status dsajit_cache_prune(dsajit_context *context, const dsajit_cache_prune_options *given,
                                 dsajit_cache_pruning *pruning, dsajit_error *error)
{
    if (pruning)
        *pruning = (dsajit_cache_pruning){0};
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    const dsajit_cache_prune_options standard = DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT;
    const dsajit_cache_prune_options *options = given ? given : &standard;
    if (options->struct_size != sizeof *options)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "options.struct_size is %zu, not %zu", options->struct_size,
                         sizeof *options);
    const struct toolchain *toolchain = NULL;
    if (options->stale && (status = context_toolchain(context, &toolchain, error)))
        return status;
    const struct prune_request request = {
        .max_bytes = options->max_bytes,
        .target_bytes = options->max_bytes,
        .unused_seconds = options->unused_seconds,
        .toolchain = toolchain ? toolchain->identity : NULL,
        .dry_run = options->dry_run,
        .event = HISTORY_REMOVED,
        .removed = options->removed,
        .user = options->removed_user,
    };
    return prune(context, &request, pruning, error);
}

dsajit_status dsajit_cache_clear(dsajit_context *context, dsajit_cache_pruning *pruning,
                                 dsajit_error *error)
{
    if (pruning)
        *pruning = (dsajit_cache_pruning){0};
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    const struct prune_request request = {
        .max_bytes = UINT64_MAX, .unused_seconds = 0, .everything = true, .event = HISTORY_REMOVED};
    return prune(context, &request, pruning, error);
}
