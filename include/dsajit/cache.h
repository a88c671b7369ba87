/* Looking into caches, keeping them small and moving them about. For tools and for the launchers of
   a fleet; no kernel launch needs any of it. docs/cache-format.md defines what is on the disk,
   docs/bundle-format.md what is in a bundle. */
#ifndef DSAJIT_CACHE_H
#define DSAJIT_CACHE_H

#include "dsajit/warmup.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Entries ---- */

typedef enum dsajit_layer_kind {
    DSAJIT_LAYER_WRITABLE = 0,
    DSAJIT_LAYER_PREBUILT = 1,
    DSAJIT_LAYER_NONE = 2 /* of a file that was named by its path */
} dsajit_layer_kind;

typedef enum dsajit_entry_state {
    DSAJIT_ENTRY_OK = 0,
    DSAJIT_ENTRY_CORRUPT = 1, /* can't be read, or isn't what was written */
    DSAJIT_ENTRY_FOREIGN = 2  /* whole, but never found by a look-up: of another format version, or
                                 under a name that isn't its key's */
} dsajit_entry_state;

/* A part of an entry: "code", "symbol", "resources", "log", or, of an inspection, "metadata" and
   "listing". */
typedef struct dsajit_cache_section {
    const char *name;
    const void *data; /* a NUL follows it */
    size_t size;
} dsajit_cache_section;

/* One entry, verified. Everything it points to is valid during the call that shows it. */
typedef struct dsajit_cache_entry {
    const char *path;
    const char *layer; /* the layer's directory; NULL for DSAJIT_LAYER_NONE */
    dsajit_layer_kind layer_kind;
    dsajit_entry_state state;
    const char *problem; /* what is wrong with it; "" when nothing is */
    uint64_t file_bytes;
    int64_t used; /* last use, in seconds since 1970, to within five minutes in the writable layer;
                     in a prebuilt one, when the file was written */
    int64_t created; /* when the file was made; 0: the file system doesn't know */

    /* The rest is empty, "" and 0, unless the entry's content is whole. */
    const char *kind;          /* "kernel" or "inspection" */
    const char *variant;       /* of a kernel: its variant's canonical text */
    const char *key_base;      /* the key, without and … */
    const char *key_toolchain; /* … with what compiled it: lines of name=value */
    bool has_info;
    dsajit_kernel_info info; /* of a kernel, if has_info; origin is that of its layer */
    const dsajit_cache_section *sections;
    size_t section_count;
} dsajit_cache_entry;

/* Called with each entry; returns false to stop. Must not call the context's cache functions. */
typedef bool (*dsajit_cache_entry_function)(void *user, const dsajit_cache_entry *entry);

/* Reads and verifies every entry file of every layer, the writable one first, by name within a
   layer, and shows it: good, bad and foreign ones. Changes nothing, not even the time of last use.
   A file that vanishes meanwhile is left out. */
DSAJIT_API dsajit_status dsajit_cache_visit(dsajit_context *context,
                                            dsajit_cache_entry_function function, void *user,
                                            dsajit_error *error);

/* Shows one file by its path, whatever it is: an entry in a layer, one that was moved aside
   (….bad), or a copy under any name (whose name then counts for nothing). NOT_FOUND or IO when
   there is nothing to read; a file that is no good entry is OK and shown as such. */
DSAJIT_API dsajit_status dsajit_cache_inspect(const char *path,
                                              dsajit_cache_entry_function function, void *user,
                                              dsajit_error *error);

/* ---- Statistics ---- */

typedef struct dsajit_layer_statistics {
    const char *directory; /* owned by the context */
    dsajit_layer_kind kind;
    uint64_t entries, entry_bytes; /* entry files by name; not read, so good or not */
    uint64_t quarantined;          /* bad files that were moved aside */
    uint64_t leftovers;            /* temporary files, of writers at work or killed */
    uint64_t locks;
} dsajit_layer_statistics;

typedef struct dsajit_cache_statistics {
    dsajit_layer_statistics *layers; /* the writable one first, where there is one */
    size_t layer_count;
    uint64_t max_bytes; /* what the writable layer is kept below; 0: no limit */

    /* Since the context was opened, by this process. */
    uint64_t hits;             /* code objects taken from a layer, perhaps after a wait */
    uint64_t misses;           /* code objects that were in none */
    uint64_t compiles;         /* started; a sealed context has misses without compiles */
    uint64_t waits;            /* for another process or thread that was compiling the same */
    uint64_t wait_ms;          /* these together */
    uint64_t published;        /* entries written */
    uint64_t publish_failures; /* entries that could not be kept */
    uint64_t quarantines;      /* bad entries met */
    uint64_t evictions;        /* entries removed to stay below max_bytes */
} dsajit_cache_statistics;

/* Counts the layers' files, without reading them. The caller frees the result. */
DSAJIT_API dsajit_status dsajit_cache_get_statistics(dsajit_context *context,
                                                     dsajit_cache_statistics *statistics,
                                                     dsajit_error *error);
DSAJIT_API void dsajit_cache_statistics_free(dsajit_cache_statistics *statistics);

/* ---- Keeping it in order ---- */

typedef struct dsajit_cache_verification {
    uint64_t good, corrupt, foreign; /* entries, of all layers */
    uint64_t repaired;               /* corrupt ones moved aside and foreign ones removed */
    uint64_t leftovers;              /* stale files: with `repair`, those that were removed */
} dsajit_cache_verification;

/* Verifies every entry of every layer. With `repair`, bad entries of the writable layer are moved
   aside and foreign ones of this format removed, as are the leftovers of killed writers. OK when
   nothing bad is left; else CORRUPT, and the message names the first. `function` (may be NULL) is
   shown every entry. */
DSAJIT_API dsajit_status dsajit_cache_verify(dsajit_context *context, bool repair,
                                             dsajit_cache_entry_function function, void *user,
                                             dsajit_cache_verification *verification,
                                             dsajit_error *error);

/* Start from DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT, which removes nothing but leftovers. What any of
   the conditions covers is removed. */
typedef struct dsajit_cache_prune_options {
    size_t struct_size;
    uint64_t
        max_bytes; /* least recently used first, until what stays is no more; UINT64_MAX: any */
    int64_t unused_seconds; /* what has not been used for that long; negative: whatever its age */
    bool
        stale; /* what another toolchain than the present one made; TOOLCHAIN_MISSING without one */
    bool dry_run; /* only say what would be removed */
    void (*removed)(void *user, const char *path, uint64_t bytes); /* shown each; may be NULL */
    void *removed_user;
} dsajit_cache_prune_options;

#define DSAJIT_CACHE_PRUNE_OPTIONS_DEFAULT                                                         \
    {                                                                                              \
        sizeof(dsajit_cache_prune_options), UINT64_MAX, -1, 0, 0, 0, 0                             \
    }

typedef struct dsajit_cache_pruning {
    uint64_t removed, removed_bytes; /* entries; those that another process removed first count */
    uint64_t kept, kept_bytes;
    uint64_t leftovers; /* stale temporary files, files moved aside and locks */
} dsajit_cache_pruning;

/* Removes entries from the writable layer. Safe while others use it: who has been given an entry
   has it in memory, and who looks for it afterwards compiles it again. CACHE_UNUSABLE without a
   writable layer. `options` and `pruning` may be NULL. */
DSAJIT_API dsajit_status dsajit_cache_prune(dsajit_context *context,
                                            const dsajit_cache_prune_options *options,
                                            dsajit_cache_pruning *pruning, dsajit_error *error);

/* Removes everything that the library has put into the writable layer, but for locks that are held
   and the directory itself. */
DSAJIT_API dsajit_status dsajit_cache_clear(dsajit_context *context, dsajit_cache_pruning *pruning,
                                            dsajit_error *error);

/* ---- Why a hit, why a miss ---- */

/* A field of two keys: a line's name, and its value in either; NULL where the line is missing. */
typedef struct dsajit_key_field {
    const char *name;
    const char *wanted, *found;
    bool equal;
} dsajit_key_field;

/* Compares two keys (texts as dsajit_get_key gives them, or an entry's base and toolchain one after
   the other) line by line, in the order of `wanted` and then of what only `found` has. `function`
   is shown each field; it returns false to stop. INVALID_ARGUMENT when a line has no '='. */
DSAJIT_API dsajit_status dsajit_cache_compare_keys(const char *wanted, const char *found,
                                                   bool (*function)(void *user,
                                                                    const dsajit_key_field *field),
                                                   void *user, dsajit_error *error);

typedef struct dsajit_cache_explanation {
    bool hit;
    char *key;  /* what is looked for; without a toolchain, its lines are absent */
    char *path; /* of the hit, else where the entry would be published; NULL
                   without a writable layer */
    dsajit_layer_kind layer_kind; /* of the hit */
    bool other_toolchain; /* the hit is another toolchain's: a prebuilt layer's, or any where
                             no toolchain is known */
    char *reason;         /* in a sentence: why it is a hit, or what is known of why it is none */

    /* The entry whose key is most alike: of a miss, or of a hit with another toolchain. NULL when
       no layer has a good entry of a kernel. */
    char *nearest_path, *nearest_key;
    size_t differences; /* lines that differ; see dsajit_cache_compare_keys */
} dsajit_cache_explanation;

/* Looks a variant up, compiles nothing, and says what came of it. The caller frees the result. */
DSAJIT_API dsajit_status dsajit_cache_explain(dsajit_context *context, const char *variant,
                                              dsajit_cache_explanation *explanation,
                                              dsajit_error *error);
DSAJIT_API void dsajit_cache_explanation_free(dsajit_cache_explanation *explanation);

/* ---- Bundles ---- */

/* A bundle is one archive of entries: the same entries give the same bytes. */

typedef struct dsajit_buffer {
    void *data;
    size_t size;
} dsajit_buffer;
DSAJIT_API void dsajit_buffer_free(dsajit_buffer *buffer);

/* Makes an Ed25519 key pair for signing bundles: two small text files, the secret one readable by
   its owner only. Files that exist are not replaced: IO. */
DSAJIT_API dsajit_status dsajit_bundle_create_keys(const char *secret_path, const char *public_path,
                                                   dsajit_error *error);

typedef struct dsajit_bundle_report {
    uint64_t entries, bytes;     /* in the bundle, its own entries' files */
    uint64_t published, present; /* of an import: written, and those whose key has a good entry in
                                    the writable layer already */
    bool is_signed;
    char signer[65]; /* its public key in hexadecimal; "" when it isn't signed */
    bool trusted;    /* signed with one of the keys that were given */
} dsajit_bundle_report;

/* Start from DSAJIT_CACHE_EXPORT_OPTIONS_DEFAULT. */
typedef struct dsajit_cache_export_options {
    size_t struct_size;
    const dsajit_plan *plan; /* only these variants, as a look-up here finds them, and what the
                                emulator needs to run them; one that is missing is NOT_FOUND. NULL:
                                every good entry of every layer */
    const char *secret_key;  /* file to sign with; NULL: not signed */
} dsajit_cache_export_options;

#define DSAJIT_CACHE_EXPORT_OPTIONS_DEFAULT                                                        \
    {                                                                                              \
        sizeof(dsajit_cache_export_options), 0, 0                                                  \
    }

/* Makes a bundle in memory and writes it to a file, by rename. `options` and `report` may be
   NULL. */
DSAJIT_API dsajit_status dsajit_cache_export(dsajit_context *context, const char *path,
                                             const dsajit_cache_export_options *options,
                                             dsajit_bundle_report *report, dsajit_error *error);

/* Start from DSAJIT_CACHE_IMPORT_OPTIONS_DEFAULT. */
typedef struct dsajit_cache_import_options {
    size_t struct_size;
    const char *const *public_keys; /* NULL-terminated files: the bundle has to be signed with one
                                       of these keys. NULL: whoever made it is trusted */
    bool verify_only;               /* check everything, write nothing */
} dsajit_cache_import_options;

#define DSAJIT_CACHE_IMPORT_OPTIONS_DEFAULT                                                        \
    {                                                                                              \
        sizeof(dsajit_cache_import_options), 0, 0                                                  \
    }

/* Checks a bundle whole (signature, every member's name, size, digest and key) and then publishes
   its entries in the writable layer. CORRUPT says what is wrong, and nothing has been written then;
   CACHE_UNUSABLE without a writable layer, IO when entries could not be written: the others are.
   `options` and `report` may be NULL. */
DSAJIT_API dsajit_status dsajit_cache_import(dsajit_context *context, const char *path,
                                             const dsajit_cache_import_options *options,
                                             dsajit_bundle_report *report, dsajit_error *error);

/* The same in memory and unsigned, so that one rank can compile and send to the others by whatever
   means they have. `plan` may be NULL. The caller frees the buffer. */
DSAJIT_API dsajit_status dsajit_cache_serialise(dsajit_context *context, const dsajit_plan *plan,
                                                dsajit_buffer *buffer, dsajit_error *error);
/* `report` may be NULL. */
DSAJIT_API dsajit_status dsajit_cache_deserialise(dsajit_context *context, const void *data,
                                                  size_t size, dsajit_bundle_report *report,
                                                  dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
