#include "runtime/sequence.h"

#include "runtime/plan.h"

static dsajit_status check_device(struct sequence *sequence, const struct call *call,
                                  dsajit_error *error)
{
    if (!sequence->has_device)
        sequence->device = call->device;
    sequence->has_device = true;
    if (call->device == sequence->device)
        return DSAJIT_OK;
    return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                     "tensors on ROCm device %d; those of the steps before are on %d", call->device,
                     sequence->device);
}

dsajit_status sequence_step(struct sequence *sequence, const char *name, call_prepare *prepare,
                            const void *arguments, dsajit_error *error)
{
    struct call call;
    dsajit_error reason;
    dsajit_status status;
    if ((status = prepare(sequence->context, arguments, &call, &reason)) ||
        (status = check_device(sequence, &call, &reason)) ||
        (status = sequence->visit(sequence, &call, &reason)))
        return error_set(error, status, "%s: %s", name, reason.message);
    return DSAJIT_OK;
}

static dsajit_status ignore(struct sequence *sequence, const struct call *call, dsajit_error *error)
{
    (void)sequence, (void)call, (void)error;
    return DSAJIT_OK;
}

dsajit_status sequence_supported(const dsajit_context *context, sequence_make *make,
                                 const void *arguments, dsajit_error *error)
{
    struct sequence sequence = {.context = context, .visit = ignore};
    return make(&sequence, arguments, error);
}

static dsajit_status add_variant(struct sequence *sequence, const struct call *call,
                                 dsajit_error *error)
{
    return plan_add_variant(sequence->user, &call->variant, error);
}

dsajit_status sequence_plan(const dsajit_context *context, sequence_make *make,
                            const void *arguments, dsajit_plan *plan, dsajit_error *error)
{
    if (!plan)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "plan is NULL");
    struct sequence sequence = {.context = context, .visit = add_variant, .user = plan};
    return make(&sequence, arguments, error);
}

struct target {
    dsajit_context *context;
    hipStream_t stream;
    bool is_cold; /* a kernel that is needed isn't resident */
};

static bool needs_kernel(const struct sequence *sequence, const struct call *call)
{
    return !sequence->is_dummy && call->workgroups > 0;
}

static dsajit_status look(struct sequence *sequence, const struct call *call, dsajit_error *error)
{
    struct target *target = sequence->user;
    (void)error;
    target->is_cold |= needs_kernel(sequence, call) &&
                       !resident_find(target->context, call->device, &call->variant);
    return DSAJIT_OK;
}

static dsajit_status load(struct sequence *sequence, const struct call *call, dsajit_error *error)
{
    const struct target *target = sequence->user;
    const struct resident *resident;
    return needs_kernel(sequence, call)
               ? resident_get(target->context, call->device, &call->variant, target->stream,
                              &resident, error)
               : DSAJIT_OK;
}

static dsajit_status launch(struct sequence *sequence, const struct call *call, dsajit_error *error)
{
    const struct target *target = sequence->user;
    return needs_kernel(sequence, call) ? call_launch(target->context, call, target->stream, error)
                                        : DSAJIT_OK;
}

static dsajit_status pass(struct target *target, sequence_visitor *visit, sequence_make *make,
                          const void *arguments, dsajit_error *error)
{
    struct sequence sequence = {.context = target->context, .visit = visit, .user = target};
    return make(&sequence, arguments, error);
}

dsajit_status sequence_enqueue(dsajit_context *context, sequence_make *make, const void *arguments,
                               hipStream_t stream, dsajit_error *error)
{
    struct target target = {.context = context, .stream = stream};
    dsajit_status status = pass(&target, look, make, arguments, error);
    if (!status && target.is_cold)
        status = pass(&target, load, make, arguments, error);
    return status ? status : pass(&target, launch, make, arguments, error);
}
