#include "emulator/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    POISON = 0xcb,
    POISON_BYTES_MAX = 64 << 20,
    QUARANTINE_SIZE = 1024,
    NEAR_BYTES = 1 << 20 /* how far from an allocation an address is still explained by it */
};

/* A range that the device may touch or, in the quarantine, one that it could touch by mistake. */
struct region {
    uintptr_t start, end;
    bool writable;
    bool owned; /* an allocation, mapped by map_region; else registered host memory */
};

struct device_memory {
    pthread_rwlock_t lock;
    size_t page_size, capacity, used;
    struct region *live; /* sorted by address, none overlap */
    size_t live_count, live_room;
    /* A ring of freed allocations, mapped without access. */
    struct region quarantine[QUARANTINE_SIZE];
    size_t quarantine_next;
    /* Changes whenever a region goes away: what a hint remembers is then in doubt. */
    atomic_uint_least64_t generation;
};

static size_t size_of(const struct region *region)
{
    return region->end - region->start;
}

static size_t round_up(size_t size, size_t multiple)
{
    return (size + multiple - 1) / multiple * multiple;
}

/* The page before the region, the region, and what follows up to the end of the page after it. */
static void *mapping_of(const struct device_memory *memory, const struct region *region,
                        size_t *size)
{
    *size = round_up(size_of(region), memory->page_size) + 2 * memory->page_size;
    return device_pointer(region->start - memory->page_size);
}

static bool map_region(const struct device_memory *memory, size_t size, struct region *region)
{
    size_t accessible = round_up(size, memory->page_size);
    size_t total = accessible + 2 * memory->page_size;
    uint8_t *base =
        mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    if (mprotect(base + memory->page_size, accessible, PROT_READ | PROT_WRITE) != 0) {
        munmap(base, total);
        return false;
    }
    region->start = (uintptr_t)base + memory->page_size;
    region->end = region->start + size;
    region->writable = true;
    region->owned = true;
    return true;
}

static void unmap_region(const struct device_memory *memory, const struct region *region)
{
    size_t size;
    void *base = mapping_of(memory, region, &size);
    munmap(base, size);
}

/* Gives the pages back but keeps the addresses. */
static void quarantine_region(struct device_memory *memory, const struct region *region)
{
    struct region *slot = &memory->quarantine[memory->quarantine_next];
    memory->quarantine_next = (memory->quarantine_next + 1) % QUARANTINE_SIZE;
    if (slot->owned)
        unmap_region(memory, slot);
    size_t size;
    void *base = mapping_of(memory, region, &size);
    /* Replacing the mapping can only fail for want of kernel memory; then the range is given up. */
    if (mmap(base, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        munmap(base, size);
        *slot = (struct region){0};
        return;
    }
    *slot = *region;
}

/* Index of the first live region that ends behind `address`; live_count if none does. */
static size_t find(const struct device_memory *memory, uint64_t address)
{
    size_t low = 0, high = memory->live_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory->live[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool insert(struct device_memory *memory, const struct region *region)
{
    size_t at = find(memory, region->start);
    if (at < memory->live_count && memory->live[at].start < region->end)
        return false;
    if (memory->live_count == memory->live_room) {
        size_t room = memory->live_room ? 2 * memory->live_room : 64;
        struct region *grown = realloc(memory->live, room * sizeof *grown);
        if (!grown)
            return false;
        memory->live = grown;
        memory->live_room = room;
    }
    memmove(&memory->live[at + 1], &memory->live[at],
            (memory->live_count - at) * sizeof memory->live[0]);
    memory->live[at] = *region;
    ++memory->live_count;
    return true;
}

/* Takes out the region that starts at `address`, if there is one of that kind. */
static bool take(struct device_memory *memory, const void *address, bool owned,
                 struct region *region)
{
    uintptr_t start = (uintptr_t)address;
    size_t at = find(memory, start);
    if (at == memory->live_count || memory->live[at].start != start ||
        memory->live[at].owned != owned)
        return false;
    *region = memory->live[at];
    --memory->live_count;
    memmove(&memory->live[at], &memory->live[at + 1],
            (memory->live_count - at) * sizeof memory->live[0]);
    atomic_fetch_add_explicit(&memory->generation, 1, memory_order_release);
    return true;
}

/* Prefers writers: the checks of running kernels must not keep a host thread from allocating. */
static bool init_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    if (pthread_rwlockattr_init(&attributes) != 0)
        return false;
    bool done = pthread_rwlockattr_setkind_np(&attributes,
                                              PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP) == 0 &&
                pthread_rwlock_init(lock, &attributes) == 0;
    pthread_rwlockattr_destroy(&attributes);
    return done;
}

struct device_memory *device_memory_create(size_t capacity_bytes)
{
    struct device_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    if (!init_lock(&memory->lock)) {
        free(memory);
        return NULL;
    }
    memory->page_size = (size_t)sysconf(_SC_PAGESIZE);
    memory->capacity = capacity_bytes;
    atomic_init(&memory->generation, 1); /* a zeroed hint is never current */
    return memory;
}

void device_memory_destroy(struct device_memory *memory)
{
    if (!memory)
        return;
    for (size_t i = 0; i < memory->live_count; ++i) {
        if (memory->live[i].owned)
            unmap_region(memory, &memory->live[i]);
    }
    for (size_t i = 0; i < QUARANTINE_SIZE; ++i) {
        if (memory->quarantine[i].owned)
            unmap_region(memory, &memory->quarantine[i]);
    }
    pthread_rwlock_destroy(&memory->lock);
    free(memory->live);
    free(memory);
}

void *device_memory_allocate(struct device_memory *memory, size_t size)
{
    struct region region;
    void *address = NULL;
    pthread_rwlock_wrlock(&memory->lock);
    if (size > 0 && size <= memory->capacity - memory->used && map_region(memory, size, &region)) {
        if (insert(memory, &region)) {
            memory->used += size;
            address = device_pointer(region.start);
        } else {
            unmap_region(memory, &region);
        }
    }
    pthread_rwlock_unlock(&memory->lock);
    if (address)
        memset(address, POISON, size < POISON_BYTES_MAX ? size : POISON_BYTES_MAX);
    return address;
}

bool device_memory_free(struct device_memory *memory, void *address)
{
    struct region region;
    pthread_rwlock_wrlock(&memory->lock);
    bool known = take(memory, address, true, &region);
    if (known) {
        memory->used -= size_of(&region);
        quarantine_region(memory, &region);
    }
    pthread_rwlock_unlock(&memory->lock);
    return known;
}

bool device_memory_register(struct device_memory *memory, void *address, size_t size, bool writable)
{
    uintptr_t start = (uintptr_t)address;
    if (!address || size == 0 || size > UINTPTR_MAX - start)
        return false;
    struct region region = {.start = start, .end = start + size, .writable = writable};
    pthread_rwlock_wrlock(&memory->lock);
    bool inserted = insert(memory, &region);
    pthread_rwlock_unlock(&memory->lock);
    return inserted;
}

bool device_memory_unregister(struct device_memory *memory, void *address)
{
    struct region region;
    pthread_rwlock_wrlock(&memory->lock);
    bool known = take(memory, address, false, &region);
    pthread_rwlock_unlock(&memory->lock);
    return known;
}

static const char *name_of(const struct region *region)
{
    if (region->owned)
        return "allocation";
    return region->writable ? "host range" : "read-only range";
}

static const struct region *find_freed(const struct device_memory *memory, uint64_t address)
{
    for (size_t i = 0; i < QUARANTINE_SIZE; ++i) {
        const struct region *region = &memory->quarantine[i];
        if (region->owned && address >= region->start && address < region->end)
            return region;
    }
    return NULL;
}

/* Says why device_memory_check refuses an access: what it lies in, or next to. */
static void explain(const struct device_memory *memory, uint64_t address, size_t size,
                    char why[MEMORY_WHY_SIZE])
{
    size_t at = find(memory, address);
    const struct region *next = at < memory->live_count ? &memory->live[at] : NULL;
    const struct region *previous = at > 0 ? &memory->live[at - 1] : NULL;
    const struct region *freed = find_freed(memory, address);
    const struct region *near;
    char relation[48];

    if (next && next->start <= address) {
        near = next;
        if (size <= next->end - address)
            snprintf(relation, sizeof relation, "are written inside");
        else
            snprintf(relation, sizeof relation, "end %" PRIu64 " bytes past",
                     size - (next->end - address));
    } else if (freed) {
        near = freed;
        snprintf(relation, sizeof relation, "are inside the freed");
    } else if (previous && address - previous->end < NEAR_BYTES &&
               (!next || address - previous->end <= next->start - address)) {
        near = previous;
        snprintf(relation, sizeof relation, "begin %" PRIu64 " bytes past the end of",
                 address - previous->end);
    } else if (next && next->start - address < NEAR_BYTES) {
        near = next;
        snprintf(relation, sizeof relation, "begin %" PRIu64 " bytes before",
                 next->start - address);
    } else {
        snprintf(why, MEMORY_WHY_SIZE, "%zu bytes at 0x%" PRIx64 " are in no allocation%s", size,
                 address, address < memory->page_size ? " (a null pointer)" : "");
        return;
    }
    snprintf(why, MEMORY_WHY_SIZE, "%zu bytes at 0x%" PRIx64 " %s %s%zu-byte %s at 0x%" PRIxPTR,
             size, address, relation, near == freed ? "" : "a ", size_of(near), name_of(near),
             near->start);
}

static bool hint_covers(const struct memory_hint *hint, uint64_t address, size_t size, bool write)
{
    return address >= hint->start && address < hint->end && size <= hint->end - address &&
           (hint->writable || !write);
}

bool device_memory_check(const struct device_memory *memory, struct memory_hint *hint,
                         uint64_t address, size_t size, bool write, char why[MEMORY_WHY_SIZE])
{
    if (hint->generation == atomic_load_explicit(&memory->generation, memory_order_acquire) &&
        hint_covers(hint, address, size, write))
        return true;

    /* The lock is no part of what the caller sees of `memory`. */
    pthread_rwlock_t *lock = (pthread_rwlock_t *)&memory->lock;
    pthread_rwlock_rdlock(lock);
    size_t at = find(memory, address);
    bool permitted = false;
    if (at < memory->live_count) {
        const struct region *region = &memory->live[at];
        *hint = (struct memory_hint){
            .start = region->start,
            .end = region->end,
            .writable = region->writable,
            .generation = atomic_load_explicit(&memory->generation, memory_order_relaxed),
        };
        permitted = hint_covers(hint, address, size, write);
    }
    if (!permitted)
        explain(memory, address, size, why);
    pthread_rwlock_unlock(lock);
    return permitted;
}

void device_memory_usage(const struct device_memory *memory, size_t *used, size_t *capacity)
{
    pthread_rwlock_t *lock = (pthread_rwlock_t *)&memory->lock;
    pthread_rwlock_rdlock(lock);
    *used = memory->used;
    *capacity = memory->capacity;
    pthread_rwlock_unlock(lock);
}
