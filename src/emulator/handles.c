#include "emulator/handles.h"

#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>

struct handle_entry {
    const void *handle;
    enum handle_kind kind;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static void *tree; /* of struct handle_entry, tsearch's */

static int compare(const void *a, const void *b)
{
    const struct handle_entry *left = a, *right = b;
    uintptr_t x = (uintptr_t)left->handle, y = (uintptr_t)right->handle;
    if (x != y)
        return x < y ? -1 : 1;
    return (left->kind > right->kind) - (left->kind < right->kind);
}

bool handle_add(enum handle_kind kind, const void *handle)
{
    struct handle_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct handle_entry){handle, kind};
    pthread_rwlock_wrlock(&lock);
    void *node = tsearch(entry, &tree, compare);
    pthread_rwlock_unlock(&lock);
    if (!node)
        free(entry);
    return node != NULL;
}

bool handle_known(enum handle_kind kind, const void *handle)
{
    const struct handle_entry key = {handle, kind};
    pthread_rwlock_rdlock(&lock);
    bool known = tfind(&key, &tree, compare) != NULL;
    pthread_rwlock_unlock(&lock);
    return known;
}

bool handle_remove(enum handle_kind kind, const void *handle)
{
    const struct handle_entry key = {handle, kind};
    pthread_rwlock_wrlock(&lock);
    struct handle_entry **node = tfind(&key, &tree, compare);
    struct handle_entry *entry = node ? *node : NULL;
    if (entry)
        tdelete(&key, &tree, compare);
    pthread_rwlock_unlock(&lock);
    free(entry);
    return entry != NULL;
}
