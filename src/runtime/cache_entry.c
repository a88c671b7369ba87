#include "runtime/cache_entry.h"

#include "cache/examine.h"
#include "runtime/key_comparison.h"
#include "runtime/resources.h"

#include <errno.h>
#include <stdlib.h>

static void describe_content(const struct examination *examination, dsajit_cache_entry *shown,
                             dsajit_cache_section sections[CACHE_SECTIONS_MAX])
{
    const struct cache_entry *entry = &examination->entry;
    for (size_t i = 0; i < entry->section_count; i++)
        sections[i] = (dsajit_cache_section){entry->sections[i].name, entry->sections[i].data,
                                             entry->sections[i].size};
    shown->key_base = entry->key_base;
    shown->key_toolchain = entry->key_toolchain;
    shown->sections = sections;
    shown->section_count = entry->section_count;
    const struct cache_section *resources = cache_entry_section(entry, "resources");
    const struct cache_section *code = cache_entry_section(entry, "code");
    if (!resources || !code || !resources_parse(resources->data, resources->size, &shown->info))
        return;
    shown->has_info = true;
    shown->info.code_bytes = (uint32_t)code->size;
    shown->info.origin =
        shown->layer_kind == DSAJIT_LAYER_PREBUILT ? DSAJIT_ORIGIN_PREBUILT : DSAJIT_ORIGIN_CACHE;
}

static bool show(const char *path, const struct entry_layer *layer,
                 const struct examination *examination, dsajit_cache_entry_function function,
                 void *user)
{
    static const dsajit_entry_state states[] = {
        [ENTRY_GOOD] = DSAJIT_ENTRY_OK,
        [ENTRY_CORRUPT] = DSAJIT_ENTRY_CORRUPT,
        [ENTRY_FOREIGN] = DSAJIT_ENTRY_FOREIGN,
    };
    dsajit_cache_section sections[CACHE_SECTIONS_MAX];
    dsajit_cache_entry shown = {
        .path = path,
        .layer = layer->directory,
        .layer_kind = layer->kind,
        .state = states[examination->state],
        .problem = examination->problem.message,
        .file_bytes = (uint64_t)examination->file.st_size,
        .used = examination->file.st_mtime,
        .created = examination->created,
        .key_base = "",
        .key_toolchain = "",
    };
    if (examination->entry.key_base)
        describe_content(examination, &shown, sections);
    char *kind = key_value(shown.key_base, "kind"), *variant = key_value(shown.key_base, "variant");
    shown.kind = kind ? kind : "";
    shown.variant = variant ? variant : "";
    bool more = function(user, &shown);
    free(kind);
    free(variant);
    return more;
}

dsajit_status entry_show(const char *path, const struct entry_layer *layer,
                         dsajit_cache_entry_function function, void *user, bool *more,
                         dsajit_error *error)
{
    struct examination examination;
    int result = examine_file(path, layer->directory != NULL, &examination);
    if (!result)
        *more = show(path, layer, &examination, function, user);
    examination_free(&examination);
    if (!result)
        return DSAJIT_OK;
    const dsajit_status status = result == ENOENT || result == ENOTDIR ? DSAJIT_ERROR_NOT_FOUND
                                 : result == ENOMEM                    ? DSAJIT_ERROR_OUT_OF_MEMORY
                                                                       : DSAJIT_ERROR_IO;
    return error_set_errno(error, status, result, "%s", path);
}

size_t entry_layers(const dsajit_context *context, struct entry_layer *layers, size_t max)
{
    size_t count = 0;
    const char *writable = cache_directory(context->cache);
    if (writable && count++ < max)
        layers[0] = (struct entry_layer){writable, DSAJIT_LAYER_WRITABLE};
    for (const char *const *layer = cache_prebuilt(context->cache); *layer; layer++) {
        if (count++ < max)
            layers[count - 1] = (struct entry_layer){*layer, DSAJIT_LAYER_PREBUILT};
    }
    return count;
}

struct walk {
    struct entry_layer layer;
    entry_walk_function function;
    void *user;
    bool more;
};

static bool walk_file(void *user, const struct layer_file *file)
{
    struct walk *walk = user;
    walk->more = file->kind != FILE_ENTRY || walk->function(walk->user, &walk->layer, file);
    return walk->more;
}

dsajit_status entry_walk_layers(const dsajit_context *context, entry_walk_function function,
                                void *user, dsajit_error *error)
{
    size_t count = entry_layers(context, NULL, 0);
    struct entry_layer *layers = calloc(count + 1, sizeof *layers);
    if (!layers)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to walk the cache");
    entry_layers(context, layers, count);
    struct walk walk = {.function = function, .user = user, .more = true};
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; i < count && walk.more && !status; i++) {
        walk.layer = layers[i];
        int result = walk_layer(layers[i].directory, walk_file, &walk);
        /* A missing prebuilt layer is told when the context is opened; a writable one may have been
           removed since. */
        if (result && result != ENOENT && result != ENOTDIR)
            status = error_set_errno(error, DSAJIT_ERROR_IO, result, "%s", layers[i].directory);
    }
    free(layers);
    return status;
}

struct visit {
    dsajit_cache_entry_function function;
    void *user;
    dsajit_status status;
    dsajit_error *error;
};

static bool visit_file(void *user, const struct entry_layer *layer, const struct layer_file *file)
{
    struct visit *visit = user;
    bool more = true;
    visit->status =
        entry_show(file->path, layer, visit->function, visit->user, &more, visit->error);
    if (visit->status == DSAJIT_ERROR_NOT_FOUND)
        visit->status = DSAJIT_OK; /* it has vanished since */
    return more && !visit->status;
}

dsajit_status entry_visit_layers(dsajit_context *context, dsajit_cache_entry_function function,
                                 void *user, dsajit_error *error)
{
    struct visit visit = {.function = function, .user = user, .error = error};
    dsajit_status status = entry_walk_layers(context, visit_file, &visit, error);
    return status ? status : visit.status;
}
