/* The public API of bundles: which entries go in, and where those go that come out. */
#include "dsajit/cache.h"

#include "base/digest.h"
#include "base/file.h"
#include "cache/bundle.h"
#include "cache/examine.h"
#include "runtime/cache_entry.h"
#include "runtime/code.h"
#include "runtime/key_comparison.h"
#include "runtime/plan.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

void dsajit_buffer_free(dsajit_buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    *buffer = (dsajit_buffer){0};
}

dsajit_status dsajit_bundle_create_keys(const char *secret_path, const char *public_path,
                                        dsajit_error *error)
{
    if (!secret_path || !public_path)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL",
                         secret_path ? "public_path" : "secret_path");
    return signing_key_create(secret_path, public_path, error);
}

/* ---- Which entries ---- */

/* Code objects by digest: those that the bundle's kernels have. */
struct digests {
    char (*hex)[DIGEST_HEX_SIZE];
    size_t count;
};

struct gathering {
    struct bundle_contents contents;
    const struct digests *inspected; /* only these code objects' inspections; NULL: everything */
    dsajit_status status;
    dsajit_error *error;
};

static bool is_wanted(const struct gathering *gathering, const char *key)
{
    if (!gathering->inspected)
        return true;
    char *kind = key_value(key, "kind"), *code = key_value(key, "code");
    bool wanted = false;
    for (size_t i = 0;
         kind && code && !strcmp(kind, "inspection") && !wanted && i < gathering->inspected->count;
         i++)
        wanted = !strcmp(gathering->inspected->hex[i], code);
    free(kind);
    free(code);
    return wanted;
}

static bool gather_file(void *user, const struct entry_layer *layer, const struct layer_file *file)
{
    struct gathering *gathering = user;
    struct examination examination;
    (void)layer;
    if (!examine_file(file->path, true, &examination) && examination.state == ENTRY_GOOD &&
        is_wanted(gathering, examination.entry.key_base))
        gathering->status = bundle_add(&gathering->contents, &examination.entry, gathering->error);
    examination_free(&examination);
    return !gathering->status;
}

/* Every good entry that is wanted; where two layers have one, the first layer's counts. */
static dsajit_status gather_files(dsajit_context *context, struct gathering *gathering)
{
    dsajit_status status = entry_walk_layers(context, gather_file, gathering, gathering->error);
    return status ? status : gathering->status;
}

/* A variant's entry as a launch here would find it. */
static dsajit_status gather_variant(dsajit_context *context, const struct variant *variant,
                                    struct bundle_contents *contents,
                                    char digest_hex[DIGEST_HEX_SIZE], dsajit_error *error)
{
    struct cache_key key = {0};
    struct bytes source = {0};
    struct cache_entry entry = {0};
    dsajit_status status = code_key(context, variant, &key, &source, error);
    if (!status)
        status = cache_get(context->cache, &key, &entry, error);
    if (!status) {
        uint8_t digest[DIGEST_SIZE];
        const struct cache_section *code = cache_entry_section(&entry, "code");
        digest_compute(code ? code->data : NULL, code ? code->size : 0, digest);
        digest_to_hex(digest, digest_hex);
        status = bundle_add(contents, &entry, error);
    }
    cache_entry_free(&entry);
    bytes_free(&source);
    cache_key_free(&key);
    return status;
}

static dsajit_status gather_plan(dsajit_context *context, const dsajit_plan *plan,
                                 struct gathering *gathering)
{
    struct digests digests = {.hex = calloc(plan->count + 1, sizeof *digests.hex)};
    if (!digests.hex)
        return error_set(gathering->error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a bundle");
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < plan->count; i++) {
        status = gather_variant(context, &plan->items[i].variant, &gathering->contents,
                                digests.hex[digests.count++], gathering->error);
        if (status)
            error_prefix(gathering->error, status, "%s", plan->items[i].text);
    }
    if (!status) {
        gathering->inspected = &digests;
        status = gather_files(context, gathering);
    }
    free(digests.hex);
    return status;
}

/* ---- Out ---- */

static void name_signer(const struct public_key *key, dsajit_bundle_report *report)
{
    sodium_bin2hex(report->signer, sizeof report->signer, key->bytes, PUBLIC_KEY_SIZE);
    report->is_signed = true;
}

/* `key` NULL: unsigned. */
static dsajit_status build(dsajit_context *context, const dsajit_plan *plan,
                           const struct secret_key *key, struct bytes *archive,
                           dsajit_bundle_report *report, dsajit_error *error)
{
    struct gathering gathering = {.error = error};
    dsajit_status status =
        plan ? gather_plan(context, plan, &gathering) : gather_files(context, &gathering);
    if (!status)
        status = bundle_write(&gathering.contents, key, archive, error);
    report->entries = gathering.contents.count;
    report->bytes = gathering.contents.bytes;
    if (key)
        name_signer(&key->public_key, report);
    bundle_contents_free(&gathering.contents);
    return status;
}

/* What the public functions below start with; `report` is emptied. */
static dsajit_status begin(const dsajit_context *context, const char *name, const void *argument,
                           dsajit_bundle_report *report, dsajit_error *error)
{
    *report = (dsajit_bundle_report){0};
    dsajit_status status = context_check(context, error);
    if (!status && !argument)
        status = error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", name);
    return status;
}

static dsajit_status check_size(size_t given, size_t size, dsajit_error *error)
{
    return given == size ? DSAJIT_OK
                         : error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                                     "options.struct_size is %zu, not %zu", given, size);
}

dsajit_status dsajit_cache_export(dsajit_context *context, const char *path,
                                  const dsajit_cache_export_options *given,
                                  dsajit_bundle_report *result, dsajit_error *error)
{
    const dsajit_cache_export_options standard = DSAJIT_CACHE_EXPORT_OPTIONS_DEFAULT;
    const dsajit_cache_export_options *options = given ? given : &standard;
    dsajit_bundle_report unused, *report = result ? result : &unused;
    struct secret_key key = {0};
    struct bytes archive = {0};
    dsajit_status status = begin(context, "path", path, report, error);
    if (!status)
        status = check_size(options->struct_size, sizeof *options, error);
    if (!status && options->secret_key)
        status = signing_key_read_secret(options->secret_key, &key, error);
    if (!status)
        status = build(context, options->plan, options->secret_key ? &key : NULL, &archive, report,
                       error);
    signing_key_wipe(&key);
    if (!status) {
        int failure = file_replace(path, archive.data, archive.size, 0644);
        if (failure)
            status = error_set_errno(error, DSAJIT_ERROR_IO, failure, "writing %s", path);
    }
    bytes_free(&archive);
    return status;
}

dsajit_status dsajit_cache_serialise(dsajit_context *context, const dsajit_plan *plan,
                                     dsajit_buffer *buffer, dsajit_error *error)
{
    dsajit_bundle_report unused;
    struct bytes archive = {0};
    dsajit_status status = begin(context, "buffer", buffer, &unused, error);
    if (status)
        return status;
    *buffer = (dsajit_buffer){0};
    status = build(context, plan, NULL, &archive, &unused, error);
    if (status)
        bytes_free(&archive);
    else
        *buffer = (dsajit_buffer){archive.data, archive.size};
    return status;
}

/* ---- In ---- */

static bool has_good_entry(const struct cache *cache, const struct cache_entry *entry)
{
    struct examination examination = {0};
    char *path = cache_published_path(cache, entry);
    bool good = path && !examine_file(path, true, &examination) && examination.state == ENTRY_GOOD;
    examination_free(&examination);
    free(path);
    return good;
}

/* A failure to write one entry doesn't keep the others out. */
static dsajit_status publish(dsajit_context *context, const struct bundle *bundle,
                             dsajit_bundle_report *report, dsajit_error *error)
{
    dsajit_status first = DSAJIT_OK;
    for (size_t i = 0; i < bundle->count; i++) {
        struct cache_entry entry = {0};
        dsajit_error problem;
        dsajit_status status = bundle_entry(bundle, i, &entry, &problem);
        if (!status && has_good_entry(context->cache, &entry)) {
            report->present++;
        } else {
            if (!status)
                status = cache_publish_entry(context->cache, &entry, &problem);
            report->published += !status;
        }
        cache_entry_free(&entry);
        if (status && !first)
            first = error_set(error, status, "%s", problem.message);
    }
    return first;
}

static dsajit_status import(dsajit_context *context, const void *data, size_t size,
                            const struct public_key *keys, size_t key_count, bool verify_only,
                            dsajit_bundle_report *report, dsajit_error *error)
{
    struct bundle bundle;
    dsajit_status status = bundle_open(data, size, keys, key_count, &bundle, error);
    if (status)
        return status;
    report->entries = bundle.count;
    report->bytes = bundle.bytes;
    report->trusted = bundle.trusted;
    if (bundle.is_signed)
        name_signer(&bundle.signer, report);
    if (!verify_only)
        status = publish(context, &bundle, report, error);
    bundle_close(&bundle);
    return status;
}

static dsajit_status read_keys(const char *const *paths, struct public_key **keys, size_t *count,
                               dsajit_error *error)
{
    *keys = NULL;
    *count = 0;
    size_t wanted = 0;
    while (paths && paths[wanted])
        wanted++;
    if (!paths)
        return DSAJIT_OK;
    if (!wanted)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "options.public_keys is empty");
    *keys = calloc(wanted, sizeof **keys);
    dsajit_status status =
        *keys ? DSAJIT_OK : error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for keys");
    for (; !status && *count < wanted; ++*count)
        status = signing_key_read_public(paths[*count], &(*keys)[*count], error);
    return status;
}

dsajit_status dsajit_cache_import(dsajit_context *context, const char *path,
                                  const dsajit_cache_import_options *given,
                                  dsajit_bundle_report *result, dsajit_error *error)
{
    const dsajit_cache_import_options standard = DSAJIT_CACHE_IMPORT_OPTIONS_DEFAULT;
    const dsajit_cache_import_options *options = given ? given : &standard;
    dsajit_bundle_report unused, *report = result ? result : &unused;
    struct public_key *keys = NULL;
    size_t key_count = 0;
    struct bytes file = {0};
    dsajit_status status = begin(context, "path", path, report, error);
    if (!status)
        status = check_size(options->struct_size, sizeof *options, error);
    if (!status)
        status = read_keys(options->public_keys, &keys, &key_count, error);
    if (!status) {
        int failure = file_read(path, BUNDLE_SIZE_MAX, &file, NULL);
        if (failure)
            status =
                error_set_errno(error, failure == ENOENT ? DSAJIT_ERROR_NOT_FOUND : DSAJIT_ERROR_IO,
                                failure, "reading %s", path);
    }
    if (!status) {
        status = import(context, file.data, file.size, keys, key_count, options->verify_only,
                        report, error);
        if (status)
            error_prefix(error, status, "%s", path);
    }
    bytes_free(&file);
    free(keys);
    return status;
}

dsajit_status dsajit_cache_deserialise(dsajit_context *context, const void *data, size_t size,
                                       dsajit_bundle_report *result, dsajit_error *error)
{
    dsajit_bundle_report unused, *report = result ? result : &unused;
    dsajit_status status = begin(context, "data", data, report, error);
    return status ? status : import(context, data, size, NULL, 0, false, report, error);
}
