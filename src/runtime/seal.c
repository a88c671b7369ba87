#include "runtime/context.h"

dsajit_status dsajit_seal(dsajit_context *context, dsajit_seal_mode mode, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (mode != DSAJIT_SEAL_OFF && mode != DSAJIT_SEAL_WARN && mode != DSAJIT_SEAL_ERROR)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "mode is %d; DSAJIT_SEAL_OFF, _WARN and _ERROR are allowed", (int)mode);
    if (context->strict && mode != DSAJIT_SEAL_ERROR)
        return error_set(error, DSAJIT_ERROR_SEALED,
                         "this context is in strict mode: it stays sealed");
    atomic_store(&context->sealed_compiles, 0);
    atomic_store(&context->seal_mode, mode);
    return DSAJIT_OK;
}

dsajit_status dsajit_get_compile_counts(const dsajit_context *context,
                                        dsajit_compile_counts *counts, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!counts)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "counts is NULL");
    *counts = (dsajit_compile_counts){.total = atomic_load(&context->compiles),
                                      .sealed = atomic_load(&context->sealed_compiles)};
    return DSAJIT_OK;
}
