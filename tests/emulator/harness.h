/* Runs a few lines of assembly on the emulator, without compiler and code object. Either as a whole
   grid, or in one workgroup whose registers a test sets before and reads after:

       struct harness h;
       harness_create(&h, "v_add_u32_e32 v0, v1, v2\n");
       harness_start(&h);
       harness_wave(&h)->vector[1][0] = 40;
       harness_wave(&h)->vector[2][0] = 2;
       assert_true(harness_finish(&h));
       assert_int_equal(harness_wave(&h)->vector[0][0], 42);
       harness_destroy(&h);

   Each line is an instruction of 4 bytes, so a branch's number counts lines; a last s_endpgm is
   added. The kernel gets its kernarg address in s[0:1], the workgroup's id in s2, s3 and s4, and
   the packed work-item ids in v0; all denormals are on; a grid of one workgroup of 64 threads. What
   differs, a test changes in `kernel` and `dispatch` before harness_start or harness_dispatch. */
#ifndef TESTS_EMULATOR_HARNESS_H
#define TESTS_EMULATOR_HARNESS_H

#include "emulator/workgroup.h"

struct harness {
    struct program program;
    struct kernel kernel;
    struct device_memory *memory;
    struct dispatch dispatch;
    struct dispatch_counters counters; /* of harness_dispatch */
    dsajit_error error;                /* of harness_dispatch and harness_finish */
    void *kernarg;                     /* HARNESS_KERNARG_SIZE bytes of device memory */
    struct grid grid;
    struct workgroup workgroup;
    bool started;
};

enum { HARNESS_KERNARG_SIZE = 256 };

/* These fail the running test when they cannot do their work. */
void harness_create(struct harness *harness, const char *assembly);
void harness_destroy(struct harness *harness);

/* Device memory with a copy of `data`, or as allocated if that is NULL. */
void *harness_allocate(struct harness *harness, size_t size, const void *data);

/* Puts an argument into the kernarg segment. */
void harness_set_argument(struct harness *harness, size_t offset, const void *value, size_t size);

/* Runs the grid. */
dsajit_status harness_dispatch(struct harness *harness);

/* The two halves of running one workgroup. harness_finish is false after a fault. */
void harness_start(struct harness *harness);
bool harness_finish(struct harness *harness);

/* Fail the running test unless the grid faults with a message that holds `expected`. */
void harness_expect_fault(struct harness *harness, const char *expected);

/* One wave of `assembly` faults so, or ends well. */
void harness_check_fault(const char *assembly, const char *expected);
void harness_check_success(const char *assembly);

static inline struct wave *harness_wave(struct harness *harness)
{
    return &harness->workgroup.waves[0];
}

#endif
