/* The memories of the virtual device: global memory as a set of live allocations, and the LDS of a workgroup. Both
   check each access to the byte. They know nothing of waves or instructions and return what is wrong as text. */
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Global memory ----
   A device address is the host address of the bytes, so that host code can copy with memcpy. Guard pages lie around
   each allocation and addresses are not handed out again soon after a free. */
struct device_memory;

struct device_memory *device_memory_create(size_t capacity_bytes);
void device_memory_destroy(struct device_memory *memory);

/* Allocations are 256-byte aligned, and filled with a poison pattern (0xCB bytes). NULL when the capacity is used up. */
void *device_memory_allocate(struct device_memory *memory, size_t size);
bool device_memory_free(struct device_memory *memory, void *address); /* false: no such allocation */

/* Host memory that the device may touch (hipHostMalloc, kernargs, code objects). */
bool device_memory_register(struct device_memory *memory, void *address, size_t size, bool writable);
bool device_memory_unregister(struct device_memory *memory, void *address);

/* True if [address, address + size) lies inside one live allocation that permits the access. Thread-safe against other
   checks; `hint` is the caller's own cache of the last hit, zero at first. When false, `why` gets a text such as
   "16 bytes at 0x7f… end 4 bytes past a 1024-byte allocation at 0x7f…". */
struct memory_hint {
    uintptr_t start, end;
    bool writable;
    uint64_t generation;
};
bool device_memory_check(const struct device_memory *memory, struct memory_hint *hint, uint64_t address, size_t size,
                         bool write, char why[160]);
void device_memory_usage(const struct device_memory *memory, size_t *used, size_t *capacity);

/* ---- LDS ----
   Bytes with a shadow: written or not, by which wave, since which barrier. A read of a byte that nobody wrote, a byte in flight from a
   direct-to-LDS load, and a race (two waves touch a byte without a barrier between, one of them writing, neither atomically) are errors. */
struct lds;

enum lds_access { LDS_READ, LDS_WRITE, LDS_ATOMIC };

struct lds *lds_create(size_t size);
void lds_destroy(struct lds *lds);
void lds_reset(struct lds *lds, size_t size); /* a new workgroup: nothing written; size may be smaller than created */
size_t lds_size(const struct lds *lds);
uint8_t *lds_bytes(struct lds *lds);
void lds_barrier(struct lds *lds); /* every wave of the workgroup has passed one */

/* Checks and records an access of `size` bytes by `wave`; `why` as above. The caller then reads or writes lds_bytes. */
bool lds_check(struct lds *lds, uint32_t wave, uint32_t address, size_t size, enum lds_access access, char why[160]);

/* Marks bytes that a direct-to-LDS load of `wave` has yet to deliver, and their arrival. */
void lds_set_in_flight(struct lds *lds, uint32_t wave, uint32_t address, size_t size, bool in_flight);

#endif
