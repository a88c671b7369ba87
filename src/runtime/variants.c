/* What the public API tells about variants, without a launch. */
#include "dsajit/inspect.h"

#include "runtime/code.h"
#include "runtime/text.h"

dsajit_status dsajit_visit_variants(const char *text, dsajit_variant_function function, void *user,
                                    dsajit_error *error)
{
    struct selection selection;
    if (!function)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "function is NULL");
    dsajit_status status = selection_parse(text, &selection, error);
    if (status)
        return status;
    bool wanted = true;
    struct bytes name = {0};
    for (size_t family = 0; wanted && family < family_count; family++) {
        for (size_t i = 0; wanted && i < variant_count(family); i++) {
            struct variant variant;
            variant_at(family, i, &variant);
            if (!selection_matches(&selection, &variant))
                continue;
            name.size = 0;
            variant_format(&variant, &name);
            if (bytes_failed(&name))
                break;
            wanted = function(user, bytes_text(&name));
        }
    }
    if (bytes_failed(&name))
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a variant's name");
    bytes_free(&name);
    return status;
}

/* What the functions below start with. */
static dsajit_status begin(const dsajit_context *context, const char *text, const void *result,
                           struct variant *variant, dsajit_error *error)
{
    dsajit_status status = context_check(context, error);
    if (status)
        return status;
    if (!text || !result)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "%s is NULL",
                         text ? "the result" : "variant");
    return variant_parse(text, variant, error);
}

dsajit_status dsajit_get_source(dsajit_context *context, const char *text, dsajit_text *source,
                                dsajit_error *error)
{
    struct variant variant;
    dsajit_status status = begin(context, text, source, &variant, error);
    if (status)
        return status;
    struct bytes bytes = {0};
    status = codegen_specialise(&variant, &context->templates, &bytes, error);
    if (!status)
        return text_take(&bytes, source, error);
    bytes_free(&bytes);
    return status;
}

dsajit_status dsajit_get_key(dsajit_context *context, const char *text, dsajit_text *result,
                             dsajit_error *error)
{
    struct variant variant;
    dsajit_status status = begin(context, text, result, &variant, error);
    if (status)
        return status;
    struct cache_key key = {0};
    struct bytes source = {0};
    status = code_key(context, &variant, &key, &source, error);
    bytes_free(&source);
    if (!status) {
        bytes_append(&key.base, key.toolchain.data, key.toolchain.size);
        status = text_take(&key.base, result, error);
    }
    cache_key_free(&key);
    return status;
}

/* The code object of a variant named by its text. */
static dsajit_status obtain(dsajit_context *context, const char *text, const void *result,
                            struct code *code, dsajit_error *error)
{
    struct variant variant;
    const struct code_request request = {.variant = &variant};
    dsajit_status status = begin(context, text, result, &variant, error);
    return status ? status : code_obtain(context, &request, code, error);
}

dsajit_status dsajit_get_isa(dsajit_context *context, const char *variant, dsajit_text *isa,
                             dsajit_error *error)
{
    struct code code;
    dsajit_status status = obtain(context, variant, isa, &code, error);
    if (status)
        return status;
    status = dsajit_disassemble(context, code.image, code.size, isa, error);
    code_free(&code);
    return status;
}

dsajit_status dsajit_prepare(dsajit_context *context, const char *variant, dsajit_kernel_info *info,
                             dsajit_error *error)
{
    struct code code;
    dsajit_status status = obtain(context, variant, info, &code, error);
    if (status)
        return status;
    *info = code.info;
    code_free(&code);
    return DSAJIT_OK;
}
