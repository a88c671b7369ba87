/* The memories of the virtual device: global memory as a set of live allocations, and the LDS of a
   workgroup. Both check each access to the byte. They know nothing of waves or instructions and
   return what is wrong as text. */
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text that a failed check leaves: always terminated, cut at this size. */
enum { MEMORY_WHY_SIZE = 160 };

/* ---- Global memory ----
   A device address is the host address of the bytes, so that host code can copy with memcpy. Guard
   pages lie around each allocation, and a freed one stays inaccessible until 1024 more have been
   freed, so that a stale address is met by a fault and not by somebody else's data. */
struct device_memory;

static inline void *device_pointer(uint64_t address)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address from a register or a descriptor */
    return (void *)(uintptr_t)address;
}

/* NULL: no host memory. Destroying unmaps what is still allocated. */
struct device_memory *device_memory_create(size_t capacity_bytes);
void device_memory_destroy(struct device_memory *memory);

/* Allocations are 256-byte aligned; their first 64 MiB are filled with a poison pattern (0xCB
   bytes), so that a large one costs no host memory before it is used. NULL when the capacity is
   used up, the host has no more, or the size is 0. Thread-safe, as is all below. */
void *device_memory_allocate(struct device_memory *memory, size_t size);
bool device_memory_free(struct device_memory *memory, void *address); /* false: no such one */

/* Host memory that the device may touch (hipHostMalloc, kernargs, code objects). False if it
   overlaps what is already known, if it is empty, or if there is no host memory. */
bool device_memory_register(struct device_memory *memory, void *address, size_t size,
                            bool writable);
bool device_memory_unregister(struct device_memory *memory, void *address);

/* True if [address, address + size) lies inside one live allocation that permits the access. `hint`
   is the caller's own cache of the last hit in this `memory`, zero at first. When false, `why` gets
   a text such as "16 bytes at 0x7f… end 4 bytes past a 1024-byte allocation at 0x7f…". */
struct memory_hint {
    uintptr_t start, end;
    bool writable;
    uint64_t generation;
};
bool device_memory_check(const struct device_memory *memory, struct memory_hint *hint,
                         uint64_t address, size_t size, bool write, char why[MEMORY_WHY_SIZE]);
void device_memory_usage(const struct device_memory *memory, size_t *used, size_t *capacity);

/* ---- LDS ----
   Bytes with a shadow: written or not, by which wave, since which barrier. Errors are: a read (or
   an atomic) of a byte that nobody wrote; any access to a byte in flight from a direct-to-LDS load;
   and a race: between two barriers, two waves touch a byte, and one of them writes it other than
   atomically. A wave's own accesses are in program order and never race. Belongs to one thread. */
struct lds;

enum lds_access { LDS_READ, LDS_WRITE, LDS_ATOMIC };

enum { LDS_WAVES_MAX = 254 };

struct lds *lds_create(size_t size); /* NULL: no host memory */
void lds_destroy(struct lds *lds);
void lds_reset(struct lds *lds, size_t size); /* a new workgroup: nothing written; size may be
                                                 smaller than created */
size_t lds_size(const struct lds *lds);
uint8_t *lds_bytes(struct lds *lds);
void lds_barrier(struct lds *lds); /* every wave of the workgroup has passed one */

/* Checks and records an access of `size` bytes by `wave` (below LDS_WAVES_MAX); `why` as above. The
   caller then reads or writes lds_bytes. */
bool lds_check(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
               enum lds_access access, char why[MEMORY_WHY_SIZE]);

/* A direct-to-LDS load: first each lane's bytes pass lds_check as LDS_WRITE, then the range from
   the first to the last of them is set in flight, which touches only bytes that `wave` wrote since
   the last barrier; when the load has arrived, the same range is cleared, which touches only what
   this wave's loads have in flight and counts as a write by `wave` at that time. */
void lds_set_in_flight(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
                       bool in_flight);

#endif
