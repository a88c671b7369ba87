/* What the loads and stores of LDS and of vector memory have in common, as plain C: which bytes go
   where in a register. The expectations of the memory tests. */
#ifndef TESTS_EMULATOR_MEMORY_FORMS_H
#define TESTS_EMULATOR_MEMORY_FORMS_H

#include "harness.h"

struct memory_form {
    const char *vector_name; /* global_load_NAME */
    const char *lds_name;    /* ds_read_NAME */
    unsigned size;
    bool sign_extend;
    bool half; /* only 16 bits of the register take part: */
    bool high; /* the upper ones */
};

extern const struct memory_form load_forms[];
extern const size_t load_form_count;
extern const struct memory_form store_forms[];
extern const size_t store_form_count;

/* Register operands: "v4", or "v[4:7]" for 16 bytes. */
const char *register_text(unsigned first, unsigned size, char text[16]);

/* Up to four dwords that a lane's registers hold after a load of `bytes`, having held `values`. */
void expect_load(const struct memory_form *form, const uint8_t *bytes, uint32_t values[4]);

/* The bytes in memory after a store of such registers. */
void expect_store(const struct memory_form *form, const uint32_t values[4], uint8_t *bytes);

/* A sequence that is the same in every run. */
uint32_t next_random(uint32_t *state);
void fill_random(void *data, size_t size, uint32_t *state);

/* Fills registers v0…v15 of a wave. */
void fill_registers(struct wave *wave, uint32_t *state);

void set_exec(struct wave *wave, uint64_t exec);

/* Puts a 64-bit value into two scalar registers, or a lane's two vector registers. */
void set_scalar64(struct wave *wave, unsigned first, uint64_t value);
void set_vector64(struct wave *wave, unsigned first, unsigned lane, uint64_t value);

/* Random bytes all over the LDS, and a barrier. Returns LDS. */
uint8_t *fill_lds(struct harness *harness, uint32_t *state);

/* Runs the rest; fails the test if there is a fault, or unless its message contains `text`. */
void finish(struct harness *harness);
void finish_with_fault(struct harness *harness, const char *text);

#endif
