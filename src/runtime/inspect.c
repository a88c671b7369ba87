/* What a context works with, for people and tools. */
#include "dsajit/inspect.h"

#include "runtime/context.h"
#include "runtime/text.h"

dsajit_status dsajit_get_toolchain_info(dsajit_context *context, dsajit_toolchain_info *info,
                                        dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!info)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "info is NULL");
    const struct toolchain *toolchain;
    status = context_toolchain(context, &toolchain, error);
    if (status)
        return status;
    *info = (dsajit_toolchain_info){.helper = toolchain->helper,
                                    .prefix = toolchain->prefix,
                                    .origin = toolchain->origin,
                                    .version = toolchain->version,
                                    .identity = toolchain->identity};
    return DSAJIT_OK;
}

dsajit_status dsajit_get_cache_info(const dsajit_context *context, dsajit_cache_info *info,
                                    dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!info)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "info is NULL");
    *info = (dsajit_cache_info){.directory = cache_directory(context->cache),
                                .problem = cache_directory_problem(context->cache),
                                .prebuilt = cache_prebuilt(context->cache)};
    return DSAJIT_OK;
}

dsajit_status dsajit_disassemble(dsajit_context *context, const void *code, size_t size,
                                 dsajit_text *isa, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!code || !isa)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL", code ? "isa" : "code");
    struct inspection inspection = {0};
    status = compiler_inspect(context->compiler, code, size, &inspection, error);
    if (!status)
        status = text_take(&inspection.listing, isa, error);
    inspection_free(&inspection);
    return status;
}
