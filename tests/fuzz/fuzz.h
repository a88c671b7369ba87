/* What a fuzz target is made of. With DSAJIT_FUZZ (clang) it is linked with libFuzzer, otherwise
   with replay.c, which feeds it the seeds and random changes of them for a while. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Takes any bytes; aborts when a promise is broken. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes good input number `number`, at most `room` bytes, and returns its size; 0 when there are
   no more. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room);

/* Makes the digests right again after a change, so that what lies behind them is tested too. */
void fuzz_repair(uint8_t *data, size_t size);

/* Aborts with the text unless the condition holds. */
void fuzz_require(int condition, const char *promise);

#endif
