/* A variant: one choice for each field of a family, and its canonical text
     FAMILY/ARCHITECTURE/FIELD=VALUE,FIELD=VALUE,…    (fields in table order, all of them) */
#ifndef CODEGEN_VARIANT_H
#define CODEGEN_VARIANT_H

#include "base/bytes.h"
#include "base/error.h"
#include "codegen/families.h"

#include <stdint.h>

struct variant {
    uint8_t family;              /* index into families */
    uint8_t architecture;        /* index into architectures */
    uint8_t choices[FIELDS_MAX]; /* index into the field's legal values */
};

/* A variant with some parts left open. */
struct selection {
    bool any_family, any_architecture;
    bool any[FIELDS_MAX];
    struct variant fixed; /* where not open */
};

/* Parses a canonical text; every part must be there, fields in any order. INVALID_ARGUMENT names
   the part that is wrong and what is allowed. The text is untrusted. */
dsajit_status variant_parse(const char *text, struct variant *variant, dsajit_error *error);

/* As variant_parse, but parts may be missing, the architecture from the middle too
   ("sparse_mla//heads=8"): "" and NULL select everything. */
dsajit_status selection_parse(const char *text, struct selection *selection, dsajit_error *error);
/* Never true of a combination that is no variant. */
bool selection_matches(const struct selection *selection, const struct variant *variant);

/* Appends the canonical text. */
void variant_format(const struct variant *variant, struct bytes *text);

/* A field's value: the number, 0 or 1, or the index of the name. */
int variant_value(const struct variant *variant, size_t field);
/* Sets it; false when the value isn't legal. */
bool variant_set(struct variant *variant, size_t field, int value);

/* Why this combination of legal values is no variant; NULL when it is one. */
const char *variant_refusal(const struct variant *variant);

/* Dense numbering of a family's combinations for all architectures, those that variant_refusal
   refuses included: 0 … variant_count(family) - 1. */
size_t variant_count(size_t family);
size_t variant_index(const struct variant *variant);
void variant_at(size_t family, size_t index, struct variant *variant);

#endif
