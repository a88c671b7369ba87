#include "runtime/context.h"

#include "runtime/environment.h"
#include "runtime/resident.h"
#include "runtime/settings.h"
#include "runtime/template_directory.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Counts forks on the child's side: a context of an older generation belongs to a parent process,
   whose threads, locks and GPU connection a child doesn't have. */
static atomic_uint fork_generation;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
}

static void prepare_process(void)
{
    pthread_atfork(NULL, NULL, count_fork);
    if (sodium_init() < 0) {
        /* Nothing to do: it only picks faster code paths, digests are right without. */
    }
}

dsajit_status context_check(const dsajit_context *context, dsajit_error *error)
{
    if (!context)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "context is NULL");
    if (context->fork_generation != atomic_load_explicit(&fork_generation, memory_order_relaxed))
        return error_set(error, DSAJIT_ERROR_FORKED,
                         "this context was opened before fork(); open another one in the child");
    return DSAJIT_OK;
}

static dsajit_status open_parts(const dsajit_options *given, dsajit_context *context,
                                dsajit_error *error)
{
    dsajit_options options;
    dsajit_status status = environment_complete(given, &options, error);
    if (status)
        return status;
    context->log = (struct logger){options.log, options.log_user};
    settings_warn_of_unknown(&context->log);
    context->strict = options.strict;
    atomic_init(&context->seal_mode, options.strict ? DSAJIT_SEAL_ERROR : DSAJIT_SEAL_OFF);
    status = template_directory_open(options.template_directory, &context->template_directory,
                                     &context->templates, error);
    if (status)
        return status;
    const struct cache_options cache = {options.cache_directory, options.prebuilt, context->log};
    status = cache_open(&cache, &context->cache, error);
    if (status)
        return status;
    /* The emulator keeps its files in the same layers. A directory that can't be used was told of
       once, and is none to it. */
    const char *directory = cache_directory(context->cache);
    const struct hip_options hip = {
        .kind = options.device,
        .library = options.hip_library,
        .rocm_path = options.rocm_path,
        .log = context->log,
        .cache_directory = directory ? directory : "",
        .prebuilt = cache_prebuilt(context->cache),
        .compiler = options.compiler,
    };
    status = hip_open(&hip, &context->hip, error);
    if (status)
        return status;
    const struct compiler_options compiler = {options.compiler, options.rocm_path,
                                              options.compile_timeout_ms, context->log};
    status = compiler_create(&compiler, &context->compiler, error);
    if (status)
        return status;
    return resident_create(context, error);
}

dsajit_status dsajit_open(const dsajit_options *options, dsajit_context **result,
                          dsajit_error *error)
{
    if (!result)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "context is NULL");
    *result = NULL;
    pthread_once(&process_once, prepare_process);
    dsajit_context *context = calloc(1, sizeof *context);
    if (!context)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a context");
    context->fork_generation = atomic_load_explicit(&fork_generation, memory_order_relaxed);
    pthread_mutex_init(&context->toolchain_mutex, NULL);
    dsajit_status status = open_parts(options, context, error);
    if (status) {
        dsajit_close(context);
        return status;
    }
    *result = context;
    return DSAJIT_OK;
}

void dsajit_close(dsajit_context *context)
{
    if (!context)
        return;
    resident_destroy(context);
    toolchain_free(&context->toolchain);
    compiler_destroy(context->compiler);
    cache_close(context->cache);
    hip_close(&context->hip);
    free(context->template_directory);
    pthread_mutex_destroy(&context->toolchain_mutex);
    free(context);
}

dsajit_status context_toolchain(dsajit_context *context, const struct toolchain **toolchain,
                                dsajit_error *error)
{
    pthread_mutex_lock(&context->toolchain_mutex);
    if (!context->toolchain_known) {
        context->toolchain_status =
            compiler_toolchain(context->compiler, cache_directory(context->cache),
                               &context->toolchain, &context->toolchain_error);
        /* That there is none is final; that it couldn't be asked may pass. */
        context->toolchain_known = context->toolchain_status == DSAJIT_OK ||
                                   context->toolchain_status == DSAJIT_ERROR_TOOLCHAIN_MISSING;
    }
    dsajit_status status = context->toolchain_status;
    if (status && error)
        *error = context->toolchain_error;
    *toolchain = status ? NULL : &context->toolchain;
    pthread_mutex_unlock(&context->toolchain_mutex);
    return status;
}

dsajit_status dsajit_get_device_info(const dsajit_context *context, dsajit_device_info *info,
                                     dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!info)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "info is NULL");
    const struct hip *hip = &context->hip;
    *info = (dsajit_device_info){.kind = hip->kind,
                                 .library = hip->path,
                                 .device_count = hip->device_count,
                                 .runtime_version = hip->runtime_version};
    if (hip->device_count > 0) {
        info->name = hip->devices[0].name;
        info->target = hip->devices[0].target;
    }
    return DSAJIT_OK;
}

void *dsajit_hip_symbol(const dsajit_context *context, const char *name)
{
    if (context_check(context, NULL) || !name)
        return NULL;
    return hip_symbol(&context->hip, name);
}

#define TEXT(value)      #value
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char *dsajit_version(void)
{
    return VERSION(DSAJIT_VERSION_MAJOR, DSAJIT_VERSION_MINOR, DSAJIT_VERSION_PATCH);
}
