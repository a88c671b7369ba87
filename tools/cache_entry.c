#include "cache_entry.h"

#include "kernel_json.h"

#include <string.h>

static const char *const state_names[] = {
    [DSAJIT_ENTRY_OK] = "ok",
    [DSAJIT_ENTRY_CORRUPT] = "corrupt",
    [DSAJIT_ENTRY_FOREIGN] = "foreign",
};
static const char *const layer_names[] = {
    [DSAJIT_LAYER_WRITABLE] = "writable",
    [DSAJIT_LAYER_PREBUILT] = "prebuilt",
    [DSAJIT_LAYER_NONE] = "none",
};

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

json_t *cache_entry_json(const dsajit_cache_entry *entry)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "path", entry->path, "state", state_names[entry->state],
                  "layer_kind", layer_names[entry->layer_kind]);
    json_object_set_new(object, "layer", text_or_null(entry->layer));
    json_object_set_new(object, "problem", text_or_null(entry->problem));
    json_object_set_new(object, "kind", text_or_null(entry->kind));
    json_object_set_new(object, "variant", text_or_null(entry->variant));
    json_object_set_new(object, "file_bytes", json_integer((json_int_t)entry->file_bytes));
    json_object_set_new(object, "used", json_integer(entry->used));
    json_object_set_new(object, "created",
                        entry->created ? json_integer(entry->created) : json_null());
    if (entry->has_info)
        kernel_json_add(object, &entry->info);
    return object;
}

const char *cache_entry_title(json_t *entry)
{
    const char *variant = json_string_value(json_object_get(entry, "variant"));
    const char *path = json_string_value(json_object_get(entry, "path"));
    const char *name = strrchr(path, '/');
    if (variant)
        return variant;
    return name ? name + 1 : path;
}
