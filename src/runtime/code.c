#include "runtime/code.h"

#include "base/digest.h"
#include "runtime/resources.h"

#include <stdlib.h>
#include <string.h>

/* Waiting for another process's compile saves work and nothing else, so no longer than a compile
 * may take. */
enum { LOCK_TIMEOUT_MS = 120000 };

static void append_options(struct bytes *text)
{
    for (size_t i = 0; codegen_options[i]; i++)
        bytes_append_format(text, "%s%s", i ? " " : "", codegen_options[i]);
}

/* A host without a compiler, or with one that fails, serves what other toolchains made. */
static void append_toolchain(dsajit_context *context, struct cache_key *key)
{
    const struct toolchain *toolchain;
    dsajit_error problem;
    dsajit_status status = context_toolchain(context, &toolchain, &problem);
    if (!status)
        bytes_append_text(&key->toolchain, toolchain->identity);
    else if (status != DSAJIT_ERROR_TOOLCHAIN_MISSING)
        log_message(&context->log, DSAJIT_LOG_WARNING,
                    "the toolchain can't be identified now, so a kernel of any will do: %s",
                    problem.message);
}

dsajit_status code_key(dsajit_context *context, const struct variant *variant,
                       struct cache_key *key, struct bytes *source, dsajit_error *error)
{
    dsajit_status status = codegen_specialise(variant, &context->templates, source, error);
    if (status)
        return status;
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_compute(source->data, source->size, digest);
    digest_to_hex(digest, hex);
    struct bytes text = {0}, options = {0};
    variant_format(variant, &text);
    append_options(&options);
    cache_key_append(key, "kind", "kernel");
    cache_key_append(key, "variant", bytes_text(&text));
    cache_key_append(key, "source", hex);
    cache_key_append(key, "target", architectures[variant->architecture]);
    cache_key_append(key, "options", bytes_text(&options));
    append_toolchain(context, key);
    if (bytes_failed(&text) || bytes_failed(&options) || bytes_failed(&key->base) ||
        bytes_failed(&key->toolchain))
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a cache key");
    bytes_free(&text);
    bytes_free(&options);
    return status;
}

/* Takes over an entry that the cache has verified. A section that is missing or malformed makes it
 * corrupt. */
static dsajit_status from_entry(struct code *code, dsajit_error *error)
{
    const struct cache_section *image = cache_entry_section(&code->entry, "code");
    const struct cache_section *symbol = cache_entry_section(&code->entry, "symbol");
    const struct cache_section *resources = cache_entry_section(&code->entry, "resources");
    if (!image || !symbol || !resources)
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%s lacks a section", code->entry.path);
    code->symbol = strndup(symbol->data, symbol->size);
    if (!code->symbol)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a kernel's name");
    if (!resources_parse(resources->data, resources->size, &code->info))
        return error_set(error, DSAJIT_ERROR_CORRUPT, "%s: malformed resources", code->entry.path);
    code->image = image->data;
    code->size = image->size;
    code->info.code_bytes = (uint32_t)image->size;
    code->info.origin = code->entry.prebuilt ? DSAJIT_ORIGIN_PREBUILT : DSAJIT_ORIGIN_CACHE;
    return DSAJIT_OK;
}

static dsajit_status look_up(dsajit_context *context, const struct cache_key *key,
                             struct code *code, dsajit_error *error)
{
    dsajit_status status = cache_get(context->cache, key, &code->entry, error);
    if (!status)
        status = from_entry(code, error);
    if (!status)
        atomic_fetch_add(&context->hits, 1);
    return status;
}

static void publish(dsajit_context *context, const struct cache_key *key, const struct code *code,
                    const struct compile_result *result)
{
    /* Why there is no directory was said when the cache was opened. */
    if (!cache_directory(context->cache))
        return;
    struct bytes resources = {0};
    resources_format(&code->info, &resources);
    const struct cache_section sections[] = {
        {"symbol", code->symbol, strlen(code->symbol)},
        {"resources", resources.data, resources.size},
        {"code", code->image, code->size},
        {"log", result->log.data, result->log.size},
    };
    /* A failure is the cache's to tell, and costs this process nothing. */
    if (!bytes_failed(&resources))
        cache_publish(context->cache, key, sections, sizeof sections / sizeof *sections, NULL);
    bytes_free(&resources);
}

/* A compile is about to happen: what the seal says of it. */
static dsajit_status pass_seal(dsajit_context *context, const struct cache_key *key,
                               dsajit_error *error)
{
    int mode = atomic_load(&context->seal_mode);
    if (mode == DSAJIT_SEAL_ERROR) {
        const char *directory = cache_directory(context->cache);
        error_set(error, DSAJIT_ERROR_SEALED,
                  "not in the cache, and compiling is forbidden (%s); looked into: %s; key:\n%s%s",
                  context->strict ? "strict mode" : "sealed",
                  directory ? directory : "no directory", bytes_text(&key->base),
                  bytes_text(&key->toolchain));
        return DSAJIT_ERROR_SEALED;
    }
    if (mode == DSAJIT_SEAL_WARN)
        atomic_fetch_add(&context->sealed_compiles, 1);
    return DSAJIT_OK;
}

static dsajit_status compile(dsajit_context *context, const struct code_request *wanted,
                             struct cache_key *key, const struct bytes *source, struct code *code,
                             dsajit_error *error)
{
    dsajit_status status = pass_seal(context, key, error);
    const struct toolchain *toolchain;
    if (!status)
        status = context_toolchain(context, &toolchain, error);
    if (status)
        return status;
    /* It may have been unknown when the key was made; an entry must say what it was compiled by. */
    if (!key->toolchain.size)
        bytes_append_text(&key->toolchain, toolchain->identity);
    const struct compile_request request = {
        .source = bytes_text(source),
        .name = families[wanted->variant->family].template_name,
        .target = architectures[wanted->variant->architecture],
        .options = codegen_options,
        .worker = wanted->worker,
        .timeout_ms = wanted->timeout_ms,
        .cancel = wanted->cancel,
    };
    struct compile_result result = {0};
    atomic_fetch_add(&context->compiles, 1);
    status = compiler_compile(context->compiler, &request, &result, error);
    if (!status) {
        code->compiled = result.code;
        result.code = (struct bytes){0};
        code->symbol = result.symbol;
        result.symbol = NULL;
        code->image = code->compiled.data;
        code->size = code->compiled.size;
        resources_from_compiler(&result, &code->info);
        code->info.code_bytes = (uint32_t)code->size;
        code->info.origin = DSAJIT_ORIGIN_COMPILED;
        publish(context, key, code, &result);
    } else if (result.log.size) {
        log_message(&context->log, DSAJIT_LOG_ERROR, "%s", bytes_text(&result.log));
    }
    compile_result_free(&result);
    return status;
}

/* A miss: one compile a key, as far as the lock holds. */
static dsajit_status compile_once(dsajit_context *context, const struct code_request *request,
                                  struct cache_key *key, const struct bytes *source,
                                  struct code *code, dsajit_error *error)
{
    int lock;
    cache_lock(context->cache, key, LOCK_TIMEOUT_MS, &lock);
    dsajit_status status = DSAJIT_ERROR_NOT_FOUND;
    if (!request->recompile) {
        status = look_up(context, key, code, NULL);
        if (status) {
            code_free(code);
            cache_report_recompile(context->cache, key);
        }
    }
    if (status) {
        atomic_fetch_add(&context->misses, 1);
        status = compile(context, request, key, source, code, error);
    }
    cache_unlock(lock);
    return status;
}

dsajit_status code_obtain(dsajit_context *context, const struct code_request *request,
                          struct code *code, dsajit_error *error)
{
    *code = (struct code){0};
    struct cache_key key = {0};
    struct bytes source = {0};
    dsajit_status status = code_key(context, request->variant, &key, &source, error);
    if (!status) {
        dsajit_error problem;
        status =
            request->recompile ? DSAJIT_ERROR_NOT_FOUND : look_up(context, &key, code, &problem);
        /* The cache itself tells of entries whose bytes are damaged; this one's content is. */
        if (status == DSAJIT_ERROR_CORRUPT)
            log_message(&context->log, DSAJIT_LOG_WARNING, "not used: %s", problem.message);
        if (status) {
            code_free(code);
            status = compile_once(context, request, &key, &source, code, error);
        }
    }
    bool broke_seal = !status && code->info.origin == DSAJIT_ORIGIN_COMPILED &&
                      atomic_load(&context->seal_mode) == DSAJIT_SEAL_WARN;
    if (status || broke_seal) {
        struct bytes name = {0};
        variant_format(request->variant, &name);
        if (broke_seal)
            log_message(&context->log, DSAJIT_LOG_WARNING, "compiled after the seal: %s",
                        bytes_text(&name));
        else
            error_prefix(error, status, "%s", bytes_text(&name));
        bytes_free(&name);
    }
    if (status)
        code_free(code);
    bytes_free(&source);
    cache_key_free(&key);
    return status;
}

void code_free(struct code *code)
{
    free(code->symbol);
    bytes_free(&code->compiled);
    cache_entry_free(&code->entry);
    *code = (struct code){0};
}
