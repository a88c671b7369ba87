/* One MFMA for a test: matrices in the order of mathematics, laid into registers by formulas that
   are written down here and nowhere else, run, and read back. */
#ifndef TESTS_EMULATOR_MATRIX_PRODUCT_H
#define TESTS_EMULATOR_MATRIX_PRODUCT_H

#include "formats.h"
#include "harness.h"

/* Registers of the operands: A, B, C, scales of A and B, D. */
enum { REG_A = 8, REG_B = 16, REG_C = 64, REG_SCALE_A = 24, REG_SCALE_B = 25, REG_D = 128 };

enum { PRODUCT_SIZE_MAX = 32, DEPTH_MAX = 128, BLOCKS_MAX = 16 };

enum kind { KIND_FLOAT, KIND_F32, KIND_F64, KIND_I8 };

struct form {
    const char *name;
    enum kind kind;
    unsigned size, depth, blocks;
    const struct format *a, *b; /* of KIND_FLOAT */
    bool any_format;            /* f8f6f4: formats by cbsz and blgp */
};

struct product {
    struct form form;
    uint64_t a[BLOCKS_MAX][PRODUCT_SIZE_MAX][DEPTH_MAX];        /* codes: [block][row][k] */
    uint64_t b[BLOCKS_MAX][PRODUCT_SIZE_MAX][DEPTH_MAX];        /* [block][column][k] */
    uint64_t c[BLOCKS_MAX][PRODUCT_SIZE_MAX][PRODUCT_SIZE_MAX]; /* [block][row][column] */
    uint64_t d[BLOCKS_MAX][PRODUCT_SIZE_MAX][PRODUCT_SIZE_MAX];
    bool scaled;
    uint8_t a_scale[PRODUCT_SIZE_MAX][DEPTH_MAX / 32], b_scale[PRODUCT_SIZE_MAX][DEPTH_MAX / 32];
    unsigned a_byte, b_byte; /* of the scale registers */
};

extern struct product product; /* the one at hand; too large for the stack */

/* How an instruction's text may differ from the usual. */
struct spelling {
    char a_file, b_file, cd_file; /* 'v' or 'a' */
    const char *c;                /* a constant in place of the registers */
    const char *modifiers;
};
extern const struct spelling usual;

/* Begins a product of this form, without scales. */
void start_form(const struct form *form);

/* Random A, B, C and scales. Ordinary: magnitudes around 1, and zeros. Wild: any code too. */
enum values { VALUES_ORDINARY, VALUES_WILD };
void randomise(enum values values);
void set_all_c(uint64_t value);

/* Fills product.d, and `text` for messages. EXEC is not all ones: it does not matter. */
void run_product(const struct spelling *spelling, char text[256]);

/* The pieces of it. */
void put_operands(struct wave *wave);
void take_results(struct wave *wave, unsigned first);

float as_f32(uint64_t bits);
double as_f64(uint64_t bits);
bool same_f32(float x, float y); /* any NaN is the same */

#endif
