/* Why a variant is a hit or a miss. */
#include "dsajit/cache.h"

#include "runtime/cache_entry.h"
#include "runtime/code.h"
#include "runtime/key_comparison.h"

#include <stdlib.h>
#include <string.h>

/* The search for the key that is most alike. */
struct search {
    dsajit_cache_explanation *explanation;
    size_t best;
    dsajit_status status;
    dsajit_error *error;
};

static char *join_key(const char *base, const char *toolchain)
{
    struct bytes key = {0};
    bytes_append_text(&key, base);
    bytes_append_text(&key, toolchain);
    if (!bytes_failed(&key))
        return (char *)key.data;
    bytes_free(&key);
    return NULL;
}

static void take_nearest(dsajit_cache_explanation *explanation, const char *path, char *key,
                         size_t differences)
{
    free(explanation->nearest_path);
    free(explanation->nearest_key);
    explanation->nearest_path = strdup(path);
    explanation->nearest_key = key;
    explanation->differences = differences;
}

static bool consider(void *user, const dsajit_cache_entry *entry)
{
    struct search *search = user;
    size_t lines, weight;
    if (entry->state != DSAJIT_ENTRY_OK || strcmp(entry->kind, "kernel") != 0)
        return true;
    char *key = join_key(entry->key_base, entry->key_toolchain);
    if (!key) {
        search->status =
            error_set(search->error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for an explanation");
        return false;
    }
    /* Texts that aren't lines of name=value are no neighbours. */
    if (!key_difference(search->explanation->key, key, &lines, &weight, NULL) &&
        weight < search->best) {
        search->best = weight;
        take_nearest(search->explanation, entry->path, key, lines);
    } else {
        free(key);
    }
    return true;
}

static dsajit_status find_nearest(dsajit_context *context, dsajit_cache_explanation *explanation,
                                  dsajit_error *error)
{
    struct search search = {.explanation = explanation, .best = SIZE_MAX, .error = error};
    dsajit_status status = entry_visit_layers(context, consider, &search, error);
    return status ? status : search.status;
}

struct field_list {
    struct bytes *text;
    bool begun;
};

static bool list_difference(void *user, const dsajit_key_field *field)
{
    struct field_list *list = user;
    if (field->equal)
        return true;
    bytes_append_format(list->text, "%s%s", list->begun ? ", " : "", field->name);
    list->begun = true;
    return true;
}

static void append_differences(const dsajit_cache_explanation *explanation, struct bytes *text)
{
    struct field_list list = {.text = text};
    dsajit_cache_compare_keys(explanation->key, explanation->nearest_key, list_difference, &list,
                              NULL);
}

static dsajit_status explain_hit(const struct cache_key *key, const struct cache_entry *entry,
                                 dsajit_cache_explanation *explanation, struct bytes *reason)
{
    explanation->hit = true;
    explanation->layer_kind = entry->prebuilt ? DSAJIT_LAYER_PREBUILT : DSAJIT_LAYER_WRITABLE;
    explanation->other_toolchain = strcmp(entry->key_toolchain, bytes_text(&key->toolchain)) != 0;
    explanation->path = strdup(entry->path);
    bytes_append_format(reason, "the %s layer has it", entry->prebuilt ? "prebuilt" : "writable");
    if (!explanation->other_toolchain)
        return DSAJIT_OK;
    char *found = join_key(entry->key_base, entry->key_toolchain);
    size_t lines, weight;
    if (!found)
        return DSAJIT_ERROR_OUT_OF_MEMORY;
    dsajit_status status = key_difference(explanation->key, found, &lines, &weight, NULL);
    take_nearest(explanation, entry->path, found, status ? 0 : lines);
    bytes_append_text(reason, key->toolchain.size
                                  ? ", made by another toolchain, which is as good in such a layer"
                                  : "; there is no toolchain here to compare with");
    return DSAJIT_OK;
}

static dsajit_status explain_miss(dsajit_context *context, const struct cache_key *key,
                                  dsajit_cache_explanation *explanation, struct bytes *reason,
                                  dsajit_error *error)
{
    dsajit_status status = find_nearest(context, explanation, error);
    if (status)
        return status;
    explanation->path = cache_entry_path(context->cache, key);
    cache_describe_miss(context->cache, key, reason);
    if (reason->size == 0)
        bytes_append_text(reason, "no layer has an entry of this key");
    if (cache_directory_problem(context->cache))
        bytes_append_format(reason, "; there is no writable layer: %s",
                            cache_directory_problem(context->cache));
    if (explanation->nearest_key) {
        bytes_append_text(reason, "; the most similar entry differs in: ");
        append_differences(explanation, reason);
    }
    return DSAJIT_OK;
}

static dsajit_status explain(dsajit_context *context, const struct cache_key *key,
                             dsajit_cache_explanation *explanation, dsajit_error *error)
{
    struct cache_entry entry;
    struct bytes reason = {0};
    explanation->key = join_key(bytes_text(&key->base), bytes_text(&key->toolchain));
    dsajit_status status = explanation->key ? DSAJIT_OK : DSAJIT_ERROR_OUT_OF_MEMORY;
    if (!status && !cache_get(context->cache, key, &entry, NULL)) {
        status = explain_hit(key, &entry, explanation, &reason);
        cache_entry_free(&entry);
    } else if (!status) {
        status = explain_miss(context, key, explanation, &reason, error);
    }
    explanation->reason = (char *)reason.data;
    bool missing =
        !explanation->reason || bytes_failed(&reason) || (explanation->hit && !explanation->path);
    if (status == DSAJIT_ERROR_OUT_OF_MEMORY || (!status && missing))
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for an explanation");
    return status;
}

dsajit_status dsajit_cache_explain(dsajit_context *context, const char *text,
                                   dsajit_cache_explanation *explanation, dsajit_error *error)
{
    if (explanation)
        *explanation = (dsajit_cache_explanation){.layer_kind = DSAJIT_LAYER_NONE};
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!text || !explanation)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL",
                         text ? "explanation" : "variant");
    struct variant variant;
    struct cache_key key = {0};
    struct bytes source = {0};
    status = variant_parse(text, &variant, error);
    if (!status)
        status = code_key(context, &variant, &key, &source, error);
    if (!status)
        status = explain(context, &key, explanation, error);
    if (status)
        dsajit_cache_explanation_free(explanation);
    bytes_free(&source);
    cache_key_free(&key);
    return status;
}

void dsajit_cache_explanation_free(dsajit_cache_explanation *explanation)
{
    if (!explanation)
        return;
    free(explanation->key);
    free(explanation->path);
    free(explanation->reason);
    free(explanation->nearest_path);
    free(explanation->nearest_key);
    *explanation = (dsajit_cache_explanation){.layer_kind = DSAJIT_LAYER_NONE};
}
