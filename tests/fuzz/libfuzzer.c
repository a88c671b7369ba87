/* libFuzzer's own mutations, half of them with right digests. */
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t seeded = seed % 64 == 0 ? fuzz_seed(seed / 64 % 4, data, room) : 0;
    if (seeded)
        size = seeded;
    size = LLVMFuzzerMutate(data, size, room);
    if (seed & 1)
        fuzz_repair(data, size);
    return size;
}
