/* Entry files as the public API shows them. */
#ifndef RUNTIME_CACHE_ENTRY_H
#define RUNTIME_CACHE_ENTRY_H

#include "cache/walk.h"
#include "dsajit/cache.h"
#include "runtime/context.h"

/* Where a file belongs to. */
struct entry_layer {
    const char *directory; /* NULL: to none */
    dsajit_layer_kind kind;
};

/* Shows one file; its name counts in a layer only. `*more` turns false when the function has had
   enough. NOT_FOUND when there is no such file, OUT_OF_MEMORY. */
dsajit_status entry_show(const char *path, const struct entry_layer *layer,
                         dsajit_cache_entry_function function, void *user, bool *more,
                         dsajit_error *error);

/* Calls the function with every entry file of every layer, the writable one first, until it returns
   false. A layer that isn't there holds nothing. IO, OUT_OF_MEMORY. */
typedef bool (*entry_walk_function)(void *user, const struct entry_layer *layer,
                                    const struct layer_file *file);
dsajit_status entry_walk_layers(const dsajit_context *context, entry_walk_function function,
                                void *user, dsajit_error *error);

/* Shows every entry file of every layer, as dsajit_cache_visit does. */
dsajit_status entry_visit_layers(dsajit_context *context, dsajit_cache_entry_function function,
                                 void *user, dsajit_error *error);

/* The context's layers, the writable one first; at most `max`. Returns how many there are. */
size_t entry_layers(const dsajit_context *context, struct entry_layer *layers, size_t max);

#endif
