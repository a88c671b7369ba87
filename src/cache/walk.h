/* A layer's files, each with what it is. */
#ifndef CACHE_WALK_H
#define CACHE_WALK_H

#include <stdbool.h>
#include <sys/stat.h>

enum file_kind {
    FILE_ENTRY,
    FILE_LOCK,
    FILE_QUARANTINED, /* a bad file that was moved aside */
    FILE_TEMPORARY,
    FILE_TOOLCHAIN, /* what is remembered of a toolchain */
    FILE_MARKER,    /* says when the layer was last swept */
    FILE_UNKNOWN    /* none of this library's */
};

#define SWEPT_MARKER "swept"

struct layer_file {
    enum file_kind kind;
    const char *path;
    const char *name; /* the path's last part */
    struct stat state;
};

/* Returns false to stop. */
typedef bool (*layer_visit_function)(void *user, const struct layer_file *file);

/* Shows every file of a bucket or of a whole layer (the buckets by name, then what lies beside
   them), by name. What vanishes meanwhile is left out. 0 or an errno value: that of the first
   directory that can't be read. */
int walk_bucket(const char *bucket, layer_visit_function visit, void *user);
int walk_layer(const char *directory, layer_visit_function visit, void *user);

#endif
