/* From a variant to one self-contained HIP translation unit: a prologue of constants, then the
   family's template with its includes flattened. Pure: the same variant and templates give the same
   bytes. */
#ifndef CODEGEN_SPECIALISE_H
#define CODEGEN_SPECIALISE_H

#include "codegen/variant.h"

/* Where template text comes from. Appends the file's bytes to `text`; NOT_FOUND when there is none
 * of that name. */
struct template_source {
    dsajit_status (*read)(void *user, const char *name, struct bytes *text, dsajit_error *error);
    void *user;
};

/* The templates built into the library. */
extern const struct template_source builtin_templates;

/* Appends the source to `text`. */
dsajit_status codegen_specialise(const struct variant *variant,
                                 const struct template_source *templates, struct bytes *text,
                                 dsajit_error *error);

/* Appends the name of the kernel function: the variant's text as a C identifier, "dsajit_" in
 * front. */
void codegen_symbol(const struct variant *variant, struct bytes *text);

/* hipRTC's options for every variant, NULL-terminated. Part of the cache key. */
extern const char *const codegen_options[];

#endif
