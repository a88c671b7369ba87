#include "emulator/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one aligned dword of LDS. Each field has a byte for each of its bytes, so that
   an access to a whole dword is a few comparisons of 32 bits. Waves are stored as index + 1. */
struct shadow {
    uint32_t
        epoch; /* barriers passed when the three fields below were last valid; else they are 0 */
    uint32_t writer; /* 0, or the wave that wrote it since the last barrier */
    uint32_t reader; /* 0, or the wave that read it, or SEVERAL */
    uint32_t atomic; /* 0, or the wave that updated it atomically, or SEVERAL */
    uint32_t state;  /* UNWRITTEN, WRITTEN, or IN_FLIGHT + the wave whose load will write it */
};

enum { SEVERAL = 0xff };
enum { UNWRITTEN = 0, WRITTEN = 1, IN_FLIGHT = 2 };
_Static_assert((int)IN_FLIGHT + (int)LDS_WAVES_MAX - 1 <= UINT8_MAX, "a wave's state fits a byte");
_Static_assert((int)LDS_WAVES_MAX < (int)SEVERAL, "no wave looks like several");

struct lds {
    size_t size, capacity;
    uint32_t epoch;
    uint8_t *bytes;
    struct shadow *shadows;
};

/* The part of an access that falls into one dword: `mask` has 0xff for each byte of it. */
struct part {
    struct shadow *shadow;
    uint32_t mask;
};

static uint32_t all_bytes(uint8_t value)
{
    return value * 0x01010101u;
}

static uint8_t byte_of(uint32_t field, unsigned byte)
{
    return field >> 8 * byte & 0xff;
}

static uint32_t replace(uint32_t field, uint32_t mask, uint8_t value)
{
    return (field & ~mask) | (all_bytes(value) & mask);
}

static size_t count_dwords(size_t bytes)
{
    return (bytes + 3) / 4;
}

/* The dword that holds byte `at`, as far as [at, end) reaches into it. */
static struct part part_of(struct lds *lds, uint32_t at, uint32_t end)
{
    uint32_t first = at / 4 * 4;
    uint32_t mask = UINT32_MAX << 8 * (at - first);
    if (end - first < 4)
        mask &= UINT32_MAX >> 8 * (4 - (end - first));
    struct shadow *shadow = &lds->shadows[at / 4];
    if (shadow->epoch != lds->epoch) {
        shadow->epoch = lds->epoch;
        shadow->writer = shadow->reader = shadow->atomic = 0;
    }
    return (struct part){shadow, mask};
}

/* True if a byte under `mask` is another's: neither 0 nor `own`. */
static bool has_other(uint32_t field, uint32_t mask, uint8_t own)
{
    field &= mask;
    if (field == 0 || field == (all_bytes(own) & mask))
        return false;
    for (unsigned byte = 0; byte < 4; ++byte) {
        uint8_t value = byte_of(field, byte);
        if (value != 0 && value != own)
            return true;
    }
    return false;
}

/* Adds `own` to the set of waves that each byte under `mask` stands for. */
static uint32_t add_wave(uint32_t field, uint32_t mask, uint8_t own)
{
    if (!has_other(field, mask, own))
        return replace(field, mask, own);
    for (unsigned byte = 0; byte < 4; ++byte) {
        uint32_t byte_mask = mask & 0xffu << 8 * byte;
        uint8_t value = byte_of(field, byte);
        field = replace(field, byte_mask, value == 0 || value == own ? own : SEVERAL);
    }
    return field;
}

static bool is_permitted(const struct part *part, uint8_t own, enum lds_access access)
{
    const struct shadow *shadow = part->shadow;
    if (has_other(shadow->writer, part->mask, own))
        return false;
    if (access == LDS_WRITE)
        return (shadow->state & ~all_bytes(WRITTEN) & part->mask) == 0 &&
               !has_other(shadow->reader, part->mask, own) &&
               !has_other(shadow->atomic, part->mask, own);
    return (shadow->state & part->mask) == (all_bytes(WRITTEN) & part->mask);
}

static void record(const struct part *part, uint8_t own, enum lds_access access)
{
    struct shadow *shadow = part->shadow;
    switch (access) {
    case LDS_READ:
        shadow->reader = add_wave(shadow->reader, part->mask, own);
        break;
    case LDS_WRITE:
        shadow->writer = replace(shadow->writer, part->mask, own);
        shadow->state = replace(shadow->state, part->mask, WRITTEN);
        break;
    case LDS_ATOMIC:
        shadow->atomic = add_wave(shadow->atomic, part->mask, own);
        break;
    }
}

static void explain_race(uint32_t address, uint8_t own, const char *does, uint8_t other,
                         const char *did, char why[MEMORY_WHY_SIZE])
{
    char name[24] = "several waves";
    if (other != SEVERAL)
        snprintf(name, sizeof name, "wave %u", other - 1u);
    snprintf(why, MEMORY_WHY_SIZE, "LDS race at 0x%x: wave %u %s what %s %s since the last barrier",
             address, own - 1u, does, name, did);
}

/* Says which byte of a refused part is at fault, and why. */
static void explain(const struct part *part, uint32_t first, uint8_t own, enum lds_access access,
                    char why[MEMORY_WHY_SIZE])
{
    static const char *const verbs[] = {
        [LDS_READ] = "reads", [LDS_WRITE] = "writes", [LDS_ATOMIC] = "atomically updates"};
    for (unsigned byte = 0; byte < 4; ++byte) {
        if (byte_of(part->mask, byte) == 0)
            continue;
        const struct part one = {part->shadow, 0xffu << 8 * byte};
        if (is_permitted(&one, own, access))
            continue;
        uint32_t address = first + byte;
        uint8_t state = byte_of(part->shadow->state, byte);
        uint8_t writer = byte_of(part->shadow->writer, byte);
        if (state == UNWRITTEN && access != LDS_WRITE)
            snprintf(why, MEMORY_WHY_SIZE,
                     "LDS byte 0x%x is read, but nothing was written there in this workgroup",
                     address);
        else if (state >= IN_FLIGHT)
            snprintf(why, MEMORY_WHY_SIZE,
                     "LDS byte 0x%x is still in flight: wave %d has not waited for its "
                     "direct-to-LDS load (vmcnt)",
                     address, state - IN_FLIGHT);
        else if (writer != 0 && writer != own)
            explain_race(address, own, verbs[access], writer, "wrote", why);
        else if (has_other(part->shadow->reader, one.mask, own))
            explain_race(address, own, verbs[access], byte_of(part->shadow->reader, byte), "read",
                         why);
        else
            explain_race(address, own, verbs[access], byte_of(part->shadow->atomic, byte),
                         "atomically updated", why);
        return;
    }
}

struct lds *lds_create(size_t size)
{
    struct lds *lds = calloc(1, sizeof *lds);
    if (!lds)
        return NULL;
    lds->capacity = size;
    /* One byte and one dword at least: an empty LDS is not a failure. */
    lds->bytes = malloc(size + 1);
    lds->shadows = malloc((count_dwords(size) + 1) * sizeof *lds->shadows);
    if (!lds->bytes || !lds->shadows) {
        lds_destroy(lds);
        return NULL;
    }
    lds_reset(lds, size);
    return lds;
}

void lds_destroy(struct lds *lds)
{
    if (!lds)
        return;
    free(lds->bytes);
    free(lds->shadows);
    free(lds);
}

void lds_reset(struct lds *lds, size_t size)
{
    assert(size <= lds->capacity);
    lds->size = size;
    lds->epoch = 0;
    memset(lds->shadows, 0, count_dwords(size) * sizeof *lds->shadows);
}

size_t lds_size(const struct lds *lds)
{
    return lds->size;
}

uint8_t *lds_bytes(struct lds *lds)
{
    return lds->bytes;
}

void lds_barrier(struct lds *lds)
{
    ++lds->epoch;
}

bool lds_check(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
               enum lds_access access, char why[MEMORY_WHY_SIZE])
{
    assert(wave < LDS_WAVES_MAX);
    if (address > lds->size || size > lds->size - address) {
        snprintf(why, MEMORY_WHY_SIZE,
                 "%zu bytes at LDS address 0x%x are outside the workgroup's "
                 "%zu bytes",
                 size, address, lds->size);
        return false;
    }
    uint8_t own = (uint8_t)(wave + 1);
    uint32_t end = address + (uint32_t)size;
    for (uint32_t at = address; at < end; at = at / 4 * 4 + 4) {
        struct part part = part_of(lds, at, end);
        if (!is_permitted(&part, own, access)) {
            explain(&part, at / 4 * 4, own, access, why);
            return false;
        }
        record(&part, own, access);
    }
    return true;
}

void lds_set_in_flight(struct lds *lds, uint32_t wave, uint32_t address, size_t size,
                       bool in_flight)
{
    assert(wave < LDS_WAVES_MAX && address <= lds->size && size <= lds->size - address);
    uint8_t own = (uint8_t)(wave + 1);
    uint32_t end = address + (uint32_t)size;
    for (uint32_t at = address; at < end; at = at / 4 * 4 + 4) {
        struct part part = part_of(lds, at, end);
        struct shadow *shadow = part.shadow;
        for (unsigned byte = 0; byte < 4; ++byte) {
            uint32_t mask = part.mask & 0xffu << 8 * byte;
            if (mask == 0)
                continue;
            if (in_flight && byte_of(shadow->writer, byte) == own)
                shadow->state = replace(shadow->state, mask, (uint8_t)(IN_FLIGHT + wave));
            if (!in_flight && byte_of(shadow->state, byte) == IN_FLIGHT + wave) {
                shadow->state = replace(shadow->state, mask, WRITTEN);
                shadow->writer = replace(shadow->writer, mask, own);
            }
        }
    }
}
