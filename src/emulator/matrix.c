/* Matrix instructions: where the elements lie in the registers, and one row per instruction.

   EXEC does not matter to them: every lane takes part.

   Layouts. M is the number of rows of A and of columns of B; a lane group is the M lanes that hold
   one row or column each, and a wave has 64 / M groups. Lane l is number l % M of group l / M.

   A, B    With several blocks, group g holds block g % blocks. Lane number i holds row i of A, or
           column i of B; its registers are one stream of elements, lowest bits first. With S groups
           per block, element j of slice s = g / blocks has k = s * (depth / S) + j.
   C, D    Lane number i holds column i. Register r of group g holds, in each block of M * M / 64
           registers, row r % 4 + 4 * (g + groups * (r / 4)); for 4x4, group g holds block g and
           register r row r. f64: register pair r of slice s holds row r * S + s.

   ASSUMPTIONS, from secondary sources:
   - 8-bit operands of the f8f6f4 forms come in two halves: element j of slice s has
     k = 16 * s + j for j < 16, and depth / 2 + 16 * s + (j - 16) for the others. Narrower elements
     lie as above. Operands of different formats meet at equal k.
   - A scale byte of lane number i in group g belongs to row or column i and to 32 * g <= k <
     32 * (g + 1), whatever the element format.
   - Element k of the 64-wide i8, and 32-wide f16 and bf16, forms lies as above as well.

   Modifiers: cbsz and abid let 2^cbsz neighbouring blocks read block abid of them in place of their
   own A. blgp moves the lanes of B: 1 and 2 give all lanes the lower or upper 32, 3 rotates down by
   16, 4 to 7 give all lanes one group of 16. In f64 forms blgp is spelled neg and negates A, B, C.
   In the f8f6f4 forms cbsz and blgp are the formats of A and B. */
#include "emulator/float_mode.h"
#include "emulator/matrix_arithmetic.h"

enum { OPERAND_D, OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_SCALE_A, OPERAND_SCALE_B };

enum element {
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_I8,
    ELEMENT_F16,
    ELEMENT_BF16,
    ELEMENT_FP8,
    ELEMENT_BF8,
    ELEMENT_ANY /* f8f6f4: as cbsz and blgp say */
};

#define SHAPE(log2_size, log2_depth, log2_blocks, a, b)                                            \
    ((uint32_t)((log2_size) | (log2_depth) << 3 | (log2_blocks) << 6 | (a) << 9 | (b) << 12)       \
         << OPCODE_VARIANT_SHIFT |                                                                 \
     OPCODE_MATRIX)

struct shape {
    unsigned size, depth, blocks;
    unsigned slices; /* lane groups that share a block, each with its part of k */
    enum element a, b;
};

static struct shape shape_of(const struct instruction *instruction)
{
    uint32_t variant = opcode_variant(instruction->opcode);
    struct shape shape = {
        .size = 1u << (variant & 7),
        .depth = 1u << (variant >> 3 & 7),
        .blocks = 1u << (variant >> 6 & 7),
        .a = (enum element)(variant >> 9 & 7),
        .b = (enum element)(variant >> 12 & 7),
    };
    shape.slices = LANES / (shape.size * shape.blocks);
    return shape;
}

/* ---- A and B ---- */

/* The registers of A or B, with the lane that each lane reads in place of its own. */
struct source {
    const struct operand *operand;
    uint8_t lanes[LANES];
};

static struct source source_a(const struct instruction *instruction, const struct shape *shape)
{
    struct source source = {.operand = &instruction->operands[OPERAND_A]};
    unsigned neighbours = shape->a == ELEMENT_ANY ? 1 : 1u << instruction->cbsz;
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / shape->size;
        unsigned taken = neighbours > 1 ? group - group % neighbours + instruction->abid : group;
        source.lanes[lane] = (uint8_t)(taken * shape->size + lane % shape->size);
    }
    return source;
}

static struct source source_b(const struct instruction *instruction, bool moves_lanes)
{
    static const struct {
        uint8_t keep, add;
    } patterns[] = {{63, 0}, {31, 0}, {31, 32}, {63, 16}, {15, 0}, {15, 16}, {15, 32}, {15, 48}};
    unsigned pattern = moves_lanes ? instruction->blgp & 7 : 0;
    struct source source = {.operand = &instruction->operands[OPERAND_B]};
    for (unsigned lane = 0; lane < LANES; ++lane)
        source.lanes[lane] =
            (uint8_t)(((lane & patterns[pattern].keep) + patterns[pattern].add) % LANES);
    return source;
}

/* Broadcasts of A are for the forms with several blocks; without one, abid means nothing. */
static bool check_broadcast(struct wave *wave, const struct instruction *instruction,
                            const struct shape *shape)
{
    unsigned neighbours = 1u << instruction->cbsz;
    if (neighbours == 1 || (neighbours <= shape->blocks && instruction->abid < neighbours))
        return true;
    return wave_fault(wave, instruction, -1, "cbsz:%u and abid:%u name no block among %u",
                      instruction->cbsz, instruction->abid, shape->blocks);
}

/* Which k element `j` of a slice has. */
static unsigned k_of(const struct shape *shape, unsigned bits, unsigned slice, unsigned j)
{
    if (shape->a == ELEMENT_ANY && bits == 8)
        return j / 16 * (shape->depth / 2) + 16 * slice + j % 16;
    return slice * (shape->depth / shape->slices) + j;
}

/* Elements of `bits` bits of one block, in the order of matrix_arithmetic.h. An element of 64 bits
   takes two calls, of which `part` is the dword. */
static void gather(struct wave *wave, const struct source *source, const struct shape *shape,
                   unsigned block, unsigned bits, unsigned part, uint32_t *elements)
{
    unsigned stride = matrix_stride(shape->size);
    unsigned per_lane = shape->depth / shape->slices;
    unsigned narrow = bits < 32 ? bits : 32;
    uint32_t mask = UINT32_MAX >> (32 - narrow);
    for (unsigned j = 0; j < per_lane; ++j) {
        uint32_t scratch[2][LANES];
        unsigned start = j * bits + 32 * part;
        unsigned shift = start % 32;
        const uint32_t *low = wave_register(wave, source->operand, start / 32, scratch[0]);
        const uint32_t *high =
            shift + narrow > 32 ? wave_register(wave, source->operand, start / 32 + 1, scratch[1])
                                : low;
        for (unsigned slice = 0; slice < shape->slices; ++slice) {
            unsigned first = (slice * shape->blocks + block) * shape->size;
            uint32_t *row = &elements[k_of(shape, bits, slice, j) * stride];
            for (unsigned i = 0; i < shape->size; ++i) {
                unsigned lane = source->lanes[first + i];
                uint64_t window = (uint64_t)high[lane] << 32 | low[lane];
                row[i] = (uint32_t)(window >> shift) & mask;
            }
        }
    }
}

/* ---- C and D ---- */

/* Register `r`, in dwords of 4 bytes or pairs of them, holds `size` neighbouring elements of a row
   in each lane group; where the row starts in the matrix of all blocks. */
static unsigned row_start(const struct shape *shape, unsigned r, unsigned group)
{
    unsigned size = shape->size, stride = matrix_stride(size);
    unsigned groups = LANES / size;
    unsigned block, row;
    if (shape->a == ELEMENT_F64) {
        block = group % shape->blocks;
        row = r * shape->slices + group / shape->blocks;
    } else if (size == 4) {
        block = group;
        row = r;
    } else {
        unsigned per_block = size / groups;
        block = r / per_block;
        r %= per_block;
        row = r % 4 + 4 * (group + groups * (r / 4));
    }
    return (block * size + row) * stride;
}

static unsigned result_registers(const struct shape *shape)
{
    return shape->size * shape->size * shape->blocks / LANES;
}

static void read_accumulators(struct wave *wave, const struct operand *operand,
                              const struct shape *shape, unsigned register_width, unsigned part,
                              uint32_t *accumulators)
{
    uint32_t scratch[LANES];
    for (unsigned r = 0; r < result_registers(shape); ++r) {
        const uint32_t *lanes = wave_register(wave, operand, r * register_width + part, scratch);
        for (unsigned group = 0; group < LANES / shape->size; ++group)
            memcpy(&accumulators[row_start(shape, r, group)], &lanes[group * shape->size],
                   shape->size * sizeof *lanes);
    }
}

static void write_accumulators(struct wave *wave, const struct operand *operand,
                               const struct shape *shape, unsigned register_width, unsigned part,
                               const uint32_t *accumulators)
{
    for (unsigned r = 0; r < result_registers(shape); ++r) {
        uint32_t *lanes = wave->vector[operand->index + r * register_width + part];
        for (unsigned group = 0; group < LANES / shape->size; ++group)
            memcpy(&lanes[group * shape->size], &accumulators[row_start(shape, r, group)],
                   shape->size * sizeof *lanes);
    }
}

/* ---- Narrow floats ---- */

static bool element_format(enum element element, unsigned code, enum number_format_id *format)
{
    static const enum number_format_id by_code[] = {NUMBER_E4M3, NUMBER_E5M2, NUMBER_E2M3,
                                                    NUMBER_E3M2, NUMBER_E2M1};
    static const enum number_format_id by_element[] = {[ELEMENT_F16] = NUMBER_F16,
                                                       [ELEMENT_BF16] = NUMBER_BF16,
                                                       [ELEMENT_FP8] = NUMBER_E4M3,
                                                       [ELEMENT_BF8] = NUMBER_E5M2};
    if (element == ELEMENT_ANY && code >= sizeof by_code / sizeof by_code[0])
        return false;
    *format = element == ELEMENT_ANY ? by_code[code] : by_element[element];
    return true;
}

/* The E8M0 bytes of A (index 0) or B (index 1): the byte that op_sel and op_sel_hi pick. */
static void gather_scales(struct wave *wave, const struct instruction *instruction, unsigned index,
                          uint32_t scales[LANES])
{
    uint32_t scratch[LANES];
    const uint32_t *lanes =
        wave_register(wave, &instruction->operands[OPERAND_SCALE_A + index], 0, scratch);
    unsigned byte = (instruction->op_sel >> index & 1u) | (instruction->op_sel_hi >> index & 1u)
                                                              << 1;
    for (unsigned lane = 0; lane < LANES; ++lane)
        scales[lane] = lanes[lane] >> 8 * byte & 0xff;
}

static void load_operand(struct wave *wave, const struct source *source, const struct shape *shape,
                         unsigned block, enum number_format_id format, const uint32_t *scales,
                         struct matrix_terms *terms)
{
    uint32_t codes[MATRIX_ELEMENTS_MAX] = {0};
    gather(wave, source, shape, block, number_formats[format].bits, 0, codes);
    matrix_load_terms(terms, format, shape->size, shape->depth, codes, scales);
}

static bool multiply_terms(struct wave *wave, const struct instruction *instruction)
{
    struct shape shape = shape_of(instruction);
    bool any = shape.a == ELEMENT_ANY;
    bool scaled = instruction->operand_count > OPERAND_SCALE_A;
    enum number_format_id a_format, b_format;
    if (!element_format(shape.a, instruction->cbsz, &a_format) ||
        !element_format(shape.b, instruction->blgp, &b_format))
        return wave_fault(wave, instruction, -1,
                          "cbsz:%u and blgp:%u are not two of the formats 0 to 4",
                          instruction->cbsz, instruction->blgp);

    if (!any && !check_broadcast(wave, instruction, &shape))
        return false;

    struct source a_source = source_a(instruction, &shape), b_source = source_b(instruction, !any);
    uint32_t accumulators[2 * MATRIX_SIZE_MAX * MATRIX_SIZE_MAX] = {0};
    read_accumulators(wave, &instruction->operands[OPERAND_C], &shape, 1, 0, accumulators);
    uint32_t a_scales[LANES], b_scales[LANES];
    if (scaled) {
        gather_scales(wave, instruction, 0, a_scales);
        gather_scales(wave, instruction, 1, b_scales);
    }
    for (unsigned block = 0; block < shape.blocks; ++block) {
        struct matrix_terms a, b;
        load_operand(wave, &a_source, &shape, block, a_format, scaled ? a_scales : NULL, &a);
        load_operand(wave, &b_source, &shape, block, b_format, scaled ? b_scales : NULL, &b);
        unsigned elements = shape.size * matrix_stride(shape.size);
        matrix_multiply_terms(&a, &b,
                              number_formats[a_format].bits == 16 ? SUM_FUSED : SUM_FUSED_SPLIT,
                              &accumulators[block * elements]);
    }
    write_accumulators(wave, &instruction->operands[OPERAND_D], &shape, 1, 0, accumulators);
    return true;
}

/* ---- The other element types ---- */

static bool multiply_dwords(struct wave *wave, const struct instruction *instruction)
{
    struct shape shape = shape_of(instruction);
    if (!check_broadcast(wave, instruction, &shape))
        return false;
    struct source a_source = source_a(instruction, &shape), b_source = source_b(instruction, true);
    unsigned bits = shape.a == ELEMENT_I8 ? 8 : 32;
    unsigned elements = shape.size * matrix_stride(shape.size);
    uint32_t accumulators[2 * MATRIX_SIZE_MAX * MATRIX_SIZE_MAX];
    read_accumulators(wave, &instruction->operands[OPERAND_C], &shape, 1, 0, accumulators);
    for (unsigned block = 0; block < shape.blocks; ++block) {
        uint32_t a[MATRIX_ELEMENTS_MAX], b[MATRIX_ELEMENTS_MAX];
        gather(wave, &a_source, &shape, block, bits, 0, a);
        gather(wave, &b_source, &shape, block, bits, 0, b);
        if (shape.a == ELEMENT_I8)
            matrix_multiply_i8(shape.size, shape.depth, a, b, &accumulators[block * elements]);
        else
            matrix_multiply_f32(shape.size, shape.depth, a, b, &accumulators[block * elements]);
    }
    write_accumulators(wave, &instruction->operands[OPERAND_D], &shape, 1, 0, accumulators);
    return true;
}

static void negate(uint64_t *elements, unsigned count, bool wanted)
{
    for (unsigned i = 0; wanted && i < count; ++i)
        elements[i] ^= UINT64_C(1) << 63;
}

/* The f64 forms are small: at most 64 elements of A and of B, and 256 of C, in each block. */
enum { F64_OPERAND_MAX = 64, F64_RESULT_MAX = 16 * 16 };

static void join_dwords(const uint32_t *low, const uint32_t *high, uint64_t *joined, unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        joined[i] = (uint64_t)high[i] << 32 | low[i];
}

static void gather_f64(struct wave *wave, const struct source *source, const struct shape *shape,
                       unsigned block, uint64_t elements[F64_OPERAND_MAX])
{
    uint32_t low[F64_OPERAND_MAX] = {0}, high[F64_OPERAND_MAX] = {0};
    gather(wave, source, shape, block, 64, 0, low);
    gather(wave, source, shape, block, 64, 1, high);
    join_dwords(low, high, elements, shape->depth * matrix_stride(shape->size));
}

/* A constant C is a number in the text, decoded as an f32 or a small integer. As an f64 the former
   has the same value, but for 1/(2*pi), which has more digits; the latter is sign-extended. */
static uint64_t constant_f64(uint32_t bits)
{
    const uint32_t inverse_two_pi_f32 = 0x3e22f983;
    const uint64_t inverse_two_pi_f64 = UINT64_C(0x3fc45f306dc9c882);
    if (bits == inverse_two_pi_f32)
        return inverse_two_pi_f64;
    int32_t integer = (int32_t)bits;
    if (integer >= -16 && integer <= 64)
        return (uint64_t)(int64_t)integer;
    return number_to_bits64(number_from_bits(bits));
}

static void read_accumulators_f64(struct wave *wave, const struct operand *operand,
                                  const struct shape *shape, uint64_t accumulators[F64_RESULT_MAX])
{
    uint32_t low[F64_RESULT_MAX] = {0}, high[F64_RESULT_MAX] = {0};
    if (operand->kind == OPERAND_CONSTANT) {
        for (unsigned i = 0; i < F64_RESULT_MAX; ++i)
            accumulators[i] = constant_f64((uint32_t)operand->value);
        return;
    }
    read_accumulators(wave, operand, shape, 2, 0, low);
    read_accumulators(wave, operand, shape, 2, 1, high);
    join_dwords(low, high, accumulators, F64_RESULT_MAX);
}

static bool multiply_f64(struct wave *wave, const struct instruction *instruction)
{
    struct shape shape = shape_of(instruction);
    if (!check_broadcast(wave, instruction, &shape))
        return false;
    struct source a_source = source_a(instruction, &shape), b_source = source_b(instruction, false);
    unsigned elements = shape.size * matrix_stride(shape.size);
    unsigned operand_elements = shape.depth * matrix_stride(shape.size);
    uint64_t accumulators[F64_RESULT_MAX];
    read_accumulators_f64(wave, &instruction->operands[OPERAND_C], &shape, accumulators);
    negate(accumulators, shape.blocks * elements, instruction->neg_lo & 4);
    for (unsigned block = 0; block < shape.blocks; ++block) {
        uint64_t a[F64_OPERAND_MAX], b[F64_OPERAND_MAX];
        gather_f64(wave, &a_source, &shape, block, a);
        gather_f64(wave, &b_source, &shape, block, b);
        negate(a, operand_elements, instruction->neg_lo & 1);
        negate(b, operand_elements, instruction->neg_lo & 2);
        matrix_multiply_f64(shape.size, shape.depth, a, b, &accumulators[block * elements]);
    }
    uint32_t low[F64_RESULT_MAX], high[F64_RESULT_MAX];
    for (unsigned i = 0; i < shape.blocks * elements; ++i) {
        low[i] = (uint32_t)accumulators[i];
        high[i] = (uint32_t)(accumulators[i] >> 32);
    }
    write_accumulators(wave, &instruction->operands[OPERAND_D], &shape, 2, 0, low);
    write_accumulators(wave, &instruction->operands[OPERAND_D], &shape, 2, 1, high);
    return true;
}

/* ---- Moves to and from accumulation registers ---- */

static bool move(struct wave *wave, const struct instruction *instruction)
{
    uint32_t scratch[LANES];
    wave_result(wave, instruction, 0, 0, wave_source(wave, instruction, 1, 0, scratch));
    return true;
}

/* clang-format off */
#define MFMA(name, execute, size, depth, blocks, a, b)                                             \
    {"v_mfma_" name, "d:m s:m s:m s:m", execute, SHAPE(size, depth, blocks, ELEMENT_##a, ELEMENT_##b)}
#define MFMA_SCALED(name, size, depth)                                                             \
    {"v_mfma_scale_" name, "d:m s:m s:m s:m s:b32 s:b32", multiply_terms,                          \
     SHAPE(size, depth, 0, ELEMENT_ANY, ELEMENT_ANY) | OPCODE_PACKED}

/* Sizes, depths and blocks by their base-2 logarithm. */
static const struct opcode rows[] = {
    MFMA("f32_32x32x16_bf16", multiply_terms, 5, 4, 0, BF16, BF16),
    MFMA("f32_16x16x32_bf16", multiply_terms, 4, 5, 0, BF16, BF16),
    MFMA("f32_32x32x8_bf16", multiply_terms, 5, 3, 0, BF16, BF16),
    MFMA("f32_16x16x16_bf16", multiply_terms, 4, 4, 0, BF16, BF16),
    MFMA("f32_32x32x4_2b_bf16", multiply_terms, 5, 2, 1, BF16, BF16),
    MFMA("f32_16x16x4_4b_bf16", multiply_terms, 4, 2, 2, BF16, BF16),
    MFMA("f32_4x4x4_16b_bf16", multiply_terms, 2, 2, 4, BF16, BF16),
    MFMA("f32_32x32x16_f16", multiply_terms, 5, 4, 0, F16, F16),
    MFMA("f32_16x16x32_f16", multiply_terms, 4, 5, 0, F16, F16),
    MFMA("f32_32x32x8_f16", multiply_terms, 5, 3, 0, F16, F16),
    MFMA("f32_16x16x16_f16", multiply_terms, 4, 4, 0, F16, F16),
    MFMA("f32_32x32x4_2b_f16", multiply_terms, 5, 2, 1, F16, F16),
    MFMA("f32_16x16x4_4b_f16", multiply_terms, 4, 2, 2, F16, F16),
    MFMA("f32_4x4x4_16b_f16", multiply_terms, 2, 2, 4, F16, F16),
    MFMA("f32_32x32x16_fp8_fp8", multiply_terms, 5, 4, 0, FP8, FP8),
    MFMA("f32_32x32x16_fp8_bf8", multiply_terms, 5, 4, 0, FP8, BF8),
    MFMA("f32_32x32x16_bf8_fp8", multiply_terms, 5, 4, 0, BF8, FP8),
    MFMA("f32_32x32x16_bf8_bf8", multiply_terms, 5, 4, 0, BF8, BF8),
    MFMA("f32_16x16x32_fp8_fp8", multiply_terms, 4, 5, 0, FP8, FP8),
    MFMA("f32_16x16x32_fp8_bf8", multiply_terms, 4, 5, 0, FP8, BF8),
    MFMA("f32_16x16x32_bf8_fp8", multiply_terms, 4, 5, 0, BF8, FP8),
    MFMA("f32_16x16x32_bf8_bf8", multiply_terms, 4, 5, 0, BF8, BF8),
    MFMA("f32_32x32x64_f8f6f4", multiply_terms, 5, 6, 0, ANY, ANY),
    MFMA("f32_16x16x128_f8f6f4", multiply_terms, 4, 7, 0, ANY, ANY),
    MFMA_SCALED("f32_32x32x64_f8f6f4", 5, 6),
    MFMA_SCALED("f32_16x16x128_f8f6f4", 4, 7),
    MFMA("f32_32x32x2_f32", multiply_dwords, 5, 1, 0, F32, F32),
    MFMA("f32_16x16x4_f32", multiply_dwords, 4, 2, 0, F32, F32),
    MFMA("f32_32x32x1_2b_f32", multiply_dwords, 5, 0, 1, F32, F32),
    MFMA("f32_16x16x1_4b_f32", multiply_dwords, 4, 0, 2, F32, F32),
    MFMA("f32_4x4x1_16b_f32", multiply_dwords, 2, 0, 4, F32, F32),
    MFMA("i32_32x32x32_i8", multiply_dwords, 5, 5, 0, I8, I8),
    MFMA("i32_16x16x64_i8", multiply_dwords, 4, 6, 0, I8, I8),
    MFMA("i32_32x32x16_i8", multiply_dwords, 5, 4, 0, I8, I8),
    MFMA("i32_16x16x32_i8", multiply_dwords, 4, 5, 0, I8, I8),
    MFMA("i32_32x32x4_2b_i8", multiply_dwords, 5, 2, 1, I8, I8),
    MFMA("i32_16x16x4_4b_i8", multiply_dwords, 4, 2, 2, I8, I8),
    MFMA("i32_4x4x4_16b_i8", multiply_dwords, 2, 2, 4, I8, I8),
    MFMA("f64_16x16x4_f64", multiply_f64, 4, 2, 0, F64, F64),
    MFMA("f64_4x4x4_4b_f64", multiply_f64, 2, 2, 2, F64, F64),
    {"v_accvgpr_read_b32", "d:b32 s:b32", move, 0},
    {"v_accvgpr_write_b32", "d:b32 s:b32", move, 0},
    {"v_accvgpr_mov_b32", "d:b32 s:b32", move, 0},
};
/* clang-format on */

const struct opcode_table opcodes_matrix = {rows, sizeof rows / sizeof rows[0]};
