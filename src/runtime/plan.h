/* The insides of a plan: distinct variants in the order they were added. */
#ifndef RUNTIME_PLAN_H
#define RUNTIME_PLAN_H

#include "codegen/variant.h"
#include "dsajit/warmup.h"

struct plan_item {
    struct variant variant;
    char *text;
};

struct dsajit_plan {
    struct plan_item *items;
    size_t count, capacity;
    bool **has; /* [family][variant index] */
};

/* Adds it, unless it is there. */
dsajit_status plan_add_variant(dsajit_plan *plan, const struct variant *variant,
                               dsajit_error *error);

#endif
