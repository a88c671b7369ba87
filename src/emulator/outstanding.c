/* Memory operations under way: the counters vmcnt and lgkmcnt, and the registers and LDS bytes that
   must not be touched before the s_waitcnt that covers them. With the check of every operand goes
   that of registers which nothing has written. */
#include "emulator/dispatch.h"
#include "emulator/wave.h"

#include <stdio.h>
#include <string.h>

/* What the counters can hold. */
enum { VECTOR_MEMORY_MAX = 63, LDS_MEMORY_MAX = 15 };

static struct outstanding *at(struct outstanding_queue *queue, unsigned position)
{
    return &queue->items[(queue->first + position) % OUTSTANDING_MAX];
}

/* ---- Issue and completion ---- */

static void mark_registers(struct wave *wave, const struct outstanding *item, int step)
{
    uint8_t *in_flight = item->scalar ? wave->scalar_in_flight : wave->vector_in_flight;
    unsigned size = (item->scalar ? SCALAR_COUNT : VECTOR_COUNT) + OPERAND_WIDTH_MAX;
    for (unsigned i = 0; i < item->count && item->first + i < size; ++i) {
        in_flight[item->first + i] = (uint8_t)(in_flight[item->first + i] + step);
        wave->registers_in_flight += (unsigned)step;
    }
}

static void complete(struct wave *wave, const struct outstanding *item)
{
    mark_registers(wave, item, -1);
    if (item->lds_size)
        lds_set_in_flight(wave->lds, wave->index, item->lds_address, item->lds_size, false);
}

static void complete_oldest(struct wave *wave, struct outstanding_queue *queue)
{
    complete(wave, at(queue, 0));
    queue->first = (queue->first + 1) % OUTSTANDING_MAX;
    --queue->count;
}

static unsigned count_scalar_memory(struct outstanding_queue *queue)
{
    unsigned count = 0;
    for (unsigned i = 0; i < queue->count; ++i)
        count += at(queue, i)->scalar_memory;
    return count;
}

/* Completes the oldest `count` operations that return in order, and keeps the others. */
static void complete_ordered(struct wave *wave, struct outstanding_queue *queue, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < queue->count; ++i) {
        if (count && !at(queue, i)->scalar_memory) {
            complete(wave, at(queue, i));
            --count;
        } else {
            *at(queue, kept++) = *at(queue, i);
        }
    }
    queue->count = kept;
}

/* Scalar loads return in any order, so all of those under way may be among the `limit` that are
   left: only what exceeds both is known to have come. */
static void wait_for(struct wave *wave, struct outstanding_queue *queue, unsigned limit)
{
    if (queue->count <= limit)
        return;
    unsigned scalar_memory = limit ? count_scalar_memory(queue) : 0;
    if (scalar_memory == 0) {
        while (queue->count > limit)
            complete_oldest(wave, queue);
    } else if (queue->count > limit + scalar_memory) {
        complete_ordered(wave, queue, queue->count - limit - scalar_memory);
    }
}

void wave_wait(struct wave *wave, unsigned vector_memory, unsigned lds_memory)
{
    if (vector_memory != 0xff)
        wait_for(wave, &wave->vector_memory, vector_memory);
    if (lds_memory != 0xff)
        wait_for(wave, &wave->lds_memory, lds_memory);
}

void wave_issue(struct wave *wave, struct outstanding_queue *queue, const struct outstanding *item)
{
    wait_for(wave, queue,
             queue == &wave->vector_memory ? VECTOR_MEMORY_MAX - 1 : LDS_MEMORY_MAX - 1);
    if (queue->count == OUTSTANDING_MAX) /* of scalar loads, whose order nobody knows */
        complete_oldest(wave, queue);
    struct outstanding *place = at(queue, queue->count++);
    *place = *item;
    place->instruction = &wave->program->instructions[wave->pc - 1];
    mark_registers(wave, place, 1);
    if (place->lds_size)
        lds_set_in_flight(wave->lds, wave->index, place->lds_address, place->lds_size, true);
}

/* ---- Checks ---- */

static bool covers(const struct outstanding *item, bool scalar, unsigned index)
{
    return item->scalar == scalar && index >= item->first && index - item->first < item->count;
}

/* The newest operation that has yet to deliver the register. */
static const struct outstanding *find(struct outstanding_queue *queue, bool scalar, unsigned index)
{
    for (unsigned i = queue->count; i-- > 0;) {
        if (covers(at(queue, i), scalar, index))
            return at(queue, i);
    }
    return NULL;
}

static void name_register(bool scalar, unsigned index, char name[16])
{
    if (!scalar)
        snprintf(name, 16, "%c%u", index < VECTOR_ACCUMULATOR ? 'v' : 'a',
                 index % VECTOR_ACCUMULATOR);
    else if (index >= SCALAR_EXEC)
        snprintf(name, 16, "exec_%s", index == SCALAR_EXEC ? "lo" : "hi");
    else if (index == SCALAR_M0)
        snprintf(name, 16, "m0");
    else if (index >= SCALAR_TTMP)
        snprintf(name, 16, "ttmp%u", index - SCALAR_TTMP);
    else if (index >= SCALAR_VCC)
        snprintf(name, 16, "vcc_%s", index == SCALAR_VCC ? "lo" : "hi");
    else
        snprintf(name, 16, "s%u", index);
}

static bool fault_in_flight(struct wave *wave, const struct instruction *instruction, bool scalar,
                            unsigned index, const char *verb)
{
    char name[16];
    name_register(scalar, index, name);
    const char *counter = "vmcnt";
    const struct outstanding *item = find(&wave->vector_memory, scalar, index);
    if (!item) {
        counter = "lgkmcnt";
        item = find(&wave->lds_memory, scalar, index);
    }
    const struct instruction *issuer = item->instruction;
    return wave_fault(wave, instruction, -1,
                      "%s is %s before s_waitcnt %s covers the %.*s at pc 0x%x", name, verb,
                      counter, (int)strcspn(issuer->text, " "), issuer->text, issuer->offset);
}

static bool check_range(struct wave *wave, const struct instruction *instruction, bool scalar,
                        unsigned first, unsigned count, const char *verb)
{
    const uint8_t *in_flight = scalar ? wave->scalar_in_flight : wave->vector_in_flight;
    for (unsigned i = first; i < first + count; ++i) {
        if (in_flight[i])
            return fault_in_flight(wave, instruction, scalar, i, verb);
    }
    return true;
}

bool wave_check_scalar(struct wave *wave, const struct instruction *instruction, unsigned first,
                       unsigned count)
{
    return !wave->registers_in_flight || check_range(wave, instruction, true, first, count, "used");
}

bool wave_check_vector(struct wave *wave, const struct instruction *instruction, unsigned first,
                       unsigned count)
{
    return !wave->registers_in_flight ||
           check_range(wave, instruction, false, first, count, "used");
}

static bool is_flat(const struct instruction *instruction)
{
    const uint32_t both = OPCODE_VECTOR_MEMORY | OPCODE_LDS;
    return (instruction->opcode->flags & both) == both;
}

/* Loads of one kind deliver in order, so a second may overwrite what a first has under way. */
static bool may_overwrite(struct wave *wave, const struct instruction *instruction,
                          const struct operand *operand)
{
    if (operand->access != ACCESS_WRITE || operand->kind != OPERAND_VECTOR ||
        !(instruction->opcode->flags & OPCODE_VECTOR_MEMORY) || is_flat(instruction))
        return false;
    for (unsigned i = operand->index; i < (unsigned)operand->index + operand->width; ++i) {
        unsigned ordered = 0;
        for (unsigned j = 0; j < wave->vector_memory.count; ++j) {
            const struct outstanding *item = at(&wave->vector_memory, j);
            ordered += covers(item, false, i) && !is_flat(item->instruction);
        }
        if (ordered != wave->vector_in_flight[i])
            return false;
    }
    return true;
}

/* Both halves of a packed f32 result may take the same dword of a source. */
static bool reads_part(const struct instruction *instruction, unsigned operand, unsigned part)
{
    unsigned source = operand - instruction->source0;
    if (instruction->operands[operand].type != TYPE_PK_F32 || source > 2)
        return true;
    return (instruction->op_sel >> source & 1) == part ||
           (instruction->op_sel_hi >> source & 1) == part;
}

static bool is_initialised(const struct wave *wave, unsigned i)
{
    return wave->initialised[i / 64] >> i % 64 & 1;
}

/* A part that only makes a part of the result as unwritten as it is. */
static bool passes_on(const struct instruction *instruction, unsigned operand, unsigned part)
{
    return instruction->opcode->flags & OPCODE_UPPER_TO_UPPER && part == 1 &&
           instruction->operands[operand].width == 2;
}

static bool check_initialised(struct wave *wave, const struct instruction *instruction,
                              unsigned index)
{
    const struct operand *operand = &instruction->operands[index];
    if (!(operand->access & ACCESS_READ))
        return true;
    for (unsigned part = 0; part < operand->width && operand->index + part < VECTOR_COUNT; ++part) {
        unsigned i = operand->index + part;
        if (!is_initialised(wave, i) && reads_part(instruction, index, part) &&
            !passes_on(instruction, index, part)) {
            char name[16];
            name_register(false, i, name);
            return wave_fault(wave, instruction, -1, "%s is read before anything wrote it", name);
        }
    }
    return true;
}

static bool inherits_unwritten(const struct wave *wave, const struct instruction *instruction,
                               unsigned part)
{
    for (unsigned s = instruction->source0; s < instruction->operand_count; ++s) {
        const struct operand *source = &instruction->operands[s];
        if (source->kind == OPERAND_VECTOR && passes_on(instruction, s, part) &&
            !is_initialised(wave, source->index + part))
            return true;
    }
    return false;
}

static void set_initialised(struct wave *wave, const struct instruction *instruction,
                            const struct operand *operand)
{
    uint64_t written[OPERAND_WIDTH_MAX];
    for (unsigned part = 0; part < operand->width; ++part)
        written[part] = !inherits_unwritten(wave, instruction, part);
    for (unsigned part = 0; part < operand->width && operand->index + part < VECTOR_COUNT; ++part) {
        unsigned i = operand->index + part;
        wave->initialised[i / 64] &= ~(UINT64_C(1) << i % 64);
        wave->initialised[i / 64] |= written[part] << i % 64;
    }
}

bool wave_check_operands(struct wave *wave, const struct instruction *instruction)
{
    for (unsigned i = 0; i < instruction->operand_count; ++i) {
        const struct operand *operand = &instruction->operands[i];
        if (operand->kind != OPERAND_VECTOR && operand->kind != OPERAND_SCALAR)
            continue;
        const char *verb = operand->access & ACCESS_READ ? "read" : "written";
        bool scalar = operand->kind == OPERAND_SCALAR;
        if (wave->registers_in_flight && !may_overwrite(wave, instruction, operand) &&
            !check_range(wave, instruction, scalar, operand->index, operand->width, verb))
            return false;
        if (wave->check_initialised && !scalar && !check_initialised(wave, instruction, i))
            return false;
    }
    if (wave->check_initialised) {
        for (unsigned i = 0; i < instruction->operand_count; ++i) {
            const struct operand *operand = &instruction->operands[i];
            if (operand->kind == OPERAND_VECTOR && (operand->access & ACCESS_WRITE))
                set_initialised(wave, instruction, operand);
        }
    }
    return true;
}
