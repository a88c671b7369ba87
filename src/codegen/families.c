#include "codegen/families.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define INTEGERS(name, list)                                                                       \
    {                                                                                              \
        name, FIELD_INTEGER, COUNT(list), list, NULL                                               \
    }
#define BOOLEAN(name)                                                                              \
    {                                                                                              \
        name, FIELD_BOOLEAN, 2, NULL, NULL                                                         \
    }
#define NAMES(name, list)                                                                          \
    {                                                                                              \
        name, FIELD_NAME, COUNT(list), NULL, list                                                  \
    }

static const int heads_1_to_16[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const char *const index_widths[] = {"i32", "i64"};
static const char *const record_scales[] = {"pow2", "any"};
static const char *const sparse_mla_math[] = {"bf16"};

static const struct field sparse_mla_fields[] = {
    [SPARSE_MLA_HEADS] = INTEGERS("heads", heads_1_to_16),
    [SPARSE_MLA_HAS_INVALID] = BOOLEAN("has_invalid"),
    [SPARSE_MLA_RETURN_LSE] = BOOLEAN("return_lse"),
    [SPARSE_MLA_INDEX] = NAMES("index", index_widths),
    [SPARSE_MLA_SCALE] = NAMES("scale", record_scales),
    [SPARSE_MLA_MATH] = NAMES("math", sparse_mla_math),
};

const struct family families[] = {
    [FAMILY_SPARSE_MLA] = {"sparse_mla", "sparse_mla.hip", sparse_mla_fields,
                           COUNT(sparse_mla_fields), NULL},
};
const size_t family_count = COUNT(families);

const char *const architectures[] = {"gfx950"};
const size_t architecture_count = COUNT(architectures);
