#include "runtime/plan.h"

#include "base/bytes.h"

#include <stdlib.h>

static dsajit_status no_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a plan");
}

dsajit_status dsajit_plan_create(dsajit_plan **result, dsajit_error *error)
{
    if (!result)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "plan is NULL");
    *result = NULL;
    dsajit_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return no_memory(error);
    plan->has = calloc(family_count, sizeof *plan->has);
    bool complete = plan->has != NULL;
    for (size_t i = 0; complete && i < family_count; i++) {
        plan->has[i] = calloc(variant_count(i), sizeof **plan->has);
        complete = plan->has[i] != NULL;
    }
    if (!complete) {
        dsajit_plan_free(plan);
        return no_memory(error);
    }
    *result = plan;
    return DSAJIT_OK;
}

void dsajit_plan_free(dsajit_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++)
        free(plan->items[i].text);
    free(plan->items);
    for (size_t i = 0; plan->has && i < family_count; i++)
        free(plan->has[i]);
    free(plan->has);
    free(plan);
}

dsajit_status plan_add_variant(dsajit_plan *plan, const struct variant *variant,
                               dsajit_error *error)
{
    bool *has = &plan->has[variant->family][variant_index(variant)];
    if (*has)
        return DSAJIT_OK;
    if (plan->count == plan->capacity) {
        size_t capacity = plan->capacity ? 2 * plan->capacity : 32;
        struct plan_item *items = reallocarray(plan->items, capacity, sizeof *items);
        if (!items)
            return no_memory(error);
        plan->items = items;
        plan->capacity = capacity;
    }
    struct bytes text = {0};
    variant_format(variant, &text);
    if (bytes_failed(&text)) {
        bytes_free(&text);
        return no_memory(error);
    }
    plan->items[plan->count++] = (struct plan_item){*variant, (char *)text.data};
    *has = true;
    return DSAJIT_OK;
}

dsajit_status dsajit_plan_add(dsajit_plan *plan, const char *text, dsajit_error *error)
{
    if (!plan)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT, "plan is NULL");
    struct selection selection;
    dsajit_status status = selection_parse(text, &selection, error);
    for (size_t family = 0; !status && family < family_count; family++) {
        for (size_t i = 0; !status && i < variant_count(family); i++) {
            struct variant variant;
            variant_at(family, i, &variant);
            if (selection_matches(&selection, &variant))
                status = plan_add_variant(plan, &variant, error);
        }
    }
    return status;
}

dsajit_status dsajit_plan_add_default(dsajit_plan *plan, dsajit_error *error)
{
    static const int heads[] = {1, 2, 4, 6, 8, 12, 16};
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < sizeof heads / sizeof *heads; i++) {
        struct bytes selection = {0};
        bytes_append_format(&selection, "sparse_mla/gfx950/heads=%d,index=i32,scale=pow2,math=bf16",
                            heads[i]);
        status = bytes_failed(&selection) ? no_memory(error)
                                          : dsajit_plan_add(plan, bytes_text(&selection), error);
        bytes_free(&selection);
    }
    return status;
}

size_t dsajit_plan_size(const dsajit_plan *plan)
{
    return plan ? plan->count : 0;
}

const char *dsajit_plan_variant(const dsajit_plan *plan, size_t index)
{
    return plan && index < plan->count ? plan->items[index].text : NULL;
}
