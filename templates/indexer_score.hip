// Scores of the lightning indexer: logits[row, n] = sum over heads of w * max(0, q . k[n]).
//
// A workgroup of 4 waves takes up to 8 rows of one request and one part of the keys, 512 of them at
// a time. The rows' queries lie in LDS in the order in which the multiplications read them. A wave
// has 128 keys of its own in registers, and goes through the rows and, for each, through the heads:
//
//     16 heads x 128 values, from LDS, times 128 values x 16 keys: 8 times, for 128 keys
//     each product, cut at 0, times the weight of its head, is added to a sum of its key
//
// Nothing is shared between waves but the queries, and there is no barrier in the loop. A query
// operand is read from LDS once for 128 keys, keys are loaded once for 8 rows.
//
// With 64 heads a row costs, for 16 of a wave's keys, 4 multiplications (128 cycles of the matrix
// pipe in fp8, 64 in mxfp4), some 30 vector instructions (120 cycles) and 1.5 reads of LDS.
#include "matrix.hpp"
#include "score_keys.hpp"
#include "score_queries.hpp"

static_assert(sizeof(indexer_score_arguments) == 184, "the same layout as on the host");

// Sums of key `column` of each tile: x over heads 4 group and 4 group + 2 of each 16, y over
// 4 group + 1 and 4 group + 3.
using key_sums = f32x2[tiles_per_unit];

// One row's way through the heads: step s multiplies 16 heads, block s / 8, with tile s % 8.
// Products are used a few steps after their multiplication, which takes as long as that; operands
// are read a block ahead.
constexpr u32 steps = blocks_of_heads * tiles_per_unit;
constexpr u32 steps_ahead = 3;

struct row_score {
    const key_registers &keys;
    const shared_queries &shared;
    const thread_place &place;
    u32 row;
    u32 query_scales;
    operand queries[2];
    f32x4 weights[2];
    f32x4 products[steps_ahead + 1];
    key_sums sums;
};

__device__ __forceinline__ void read_block(row_score &score, u32 block)
{
    const u32 row = score.row;
#pragma unroll
    for (u32 i = 0; i < loads_per_operand; i++)
        score.queries[block % 2].chunks[i] = score.shared.values[row][block][i][score.place.lane];
    const u32 head = heads_per_block * block + 4 * score.place.group;
    score.weights[block % 2] = *(lds_pointer<const f32x4>)&score.shared.weights[row][head];
}

template <u32 step> __device__ __forceinline__ void multiply(row_score &score)
{
    constexpr u32 block = step / tiles_per_unit, tile = step % tiles_per_unit;
    score.products[step % (steps_ahead + 1)] =
        multiply_16x16x128<block>(score.queries[block % 2], score.query_scales,
                                  score.keys.values[tile], score.keys.blocks[tile]);
}

template <u32 step> __device__ __forceinline__ void add_products(row_score &score)
{
    constexpr u32 block = step / tiles_per_unit, tile = step % tiles_per_unit;
    const f32x4 products =
        __builtin_elementwise_maximum(score.products[step % (steps_ahead + 1)], f32x4{});
    const f32x4 weights = score.weights[block % 2];
    f32x2 &sum = score.sums[tile];
    sum = __builtin_elementwise_fma(products.xy, weights.xy, sum);
    sum = __builtin_elementwise_fma(products.zw, weights.zw, sum);
}

template <u32 step> __device__ __forceinline__ void take_step(row_score &score)
{
    if constexpr (step + steps_ahead < steps)
        multiply<step + steps_ahead>(score);
    add_products<step>(score);
    constexpr u32 block = step / tiles_per_unit;
    if constexpr (step % tiles_per_unit == tiles_per_unit - 1 && block + 2 < blocks_of_heads)
        read_block(score, block + 2);
    schedule_fence();
    if constexpr (step + 1 < steps)
        take_step<step + 1>(score);
}

// Exchanges the odd groups of a with the even groups of b (`lanes` 16), or the upper half of a with
// the lower half of b (32), and adds the two.
template <u32 lanes> __device__ __forceinline__ f32x2 add_swapped(f32x2 a, f32x2 b)
{
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const float from_a = a[i], from_b = b[i];
        const u32 first = __builtin_bit_cast(u32, from_a), second = __builtin_bit_cast(u32, from_b);
        u32x2 swapped;
        if constexpr (lanes == 16)
            swapped = __builtin_amdgcn_permlane16_swap(first, second, false, false);
        else
            swapped = __builtin_amdgcn_permlane32_swap(first, second, false, false);
        const u32 to_a = swapped.x, to_b = swapped.y;
        a[i] = __builtin_bit_cast(float, to_a);
        b[i] = __builtin_bit_cast(float, to_b);
    }
    return a + b;
}

// The sums of the 4 groups of 4 tiles; lane (group, column) gets that of tile `group`.
//
//                        group 0    1    2    3
//     permlane16_swap          a0   b0   a2   b2     and     a1   b1   a3   b3
//     their sum, of c, d too   a01  b01  a23  b23    and     c01  d01  c23  d23
//     permlane32_swap          a01  b01  c01  d01    and     a23  b23  c23  d23
__device__ __forceinline__ float combine_tiles(const f32x2 (&tiles)[tiles_per_unit], u32 first)
{
    const f32x2 low = add_swapped<16>(tiles[first], tiles[first + 1]);
    const f32x2 high = add_swapped<16>(tiles[first + 2], tiles[first + 3]);
    const f32x2 sums = add_swapped<32>(low, high);
    return sums.x + sums.y;
}

// The logits of one row and one wave's keys.
struct row_logits {
    float values[results_per_unit]; // of key `lane` of 64
};

__device__ __forceinline__ row_logits score_row(const key_registers &keys,
                                                const shared_queries &shared, u32 row,
                                                const thread_place &place)
{
    row_score score = {keys, shared, place, row, is_fp8 ? 0 : shared.scales[row][place.lane]};
#pragma unroll
    for (u32 block = 0; block < 2 && block < blocks_of_heads; block++)
        read_block(score, block);
    multiply<0>(score);
    multiply<1>(score);
    multiply<2>(score);
    take_step<0>(score);

    row_logits logits;
#pragma unroll
    for (u32 i = 0; i < results_per_unit; i++) {
        logits.values[i] = combine_tiles(score.sums, tiles_per_result * i);
        if constexpr (is_fp8)
            logits.values[i] *= keys.scales[i];
    }
    return logits;
}

// Columns outside the row's window become -infinity where the variant says so, else stay untouched.
__device__ __forceinline__ void write_logits(const indexer_score_arguments &arguments,
                                             const row_group &group, u32 row, u32 start,
                                             const row_logits &logits, u32 lane)
{
    const auto first = (global_pointer<float>)arguments.logits +
                       (i64)(group.first + row) * arguments.logits_row_stride + start;
    const key_range window = row_window(group, row);
#pragma unroll
    for (u32 i = 0; i < results_per_unit; i++) {
        const u32 offset = lanes_per_wave * i + lane;
        const bool scored = start + offset - window.start < window.end - window.start;
        if constexpr (variant::clean) {
            if (start + offset < (u32)arguments.columns)
                first[offset] = scored ? logits.values[i] : -__builtin_inff();
        } else if (scored) {
            first[offset] = logits.values[i];
        }
    }
}

// The rows of a group whose bits are set: scored, or without any key in their window.
__device__ __forceinline__ void score_rows(const indexer_score_arguments &arguments,
                                           const row_group &group, u32 rows, u32 start,
                                           const key_registers &keys, const shared_queries &shared,
                                           const thread_place &place)
{
    for (; rows; rows &= rows - 1) {
        const u32 row = (u32)__builtin_ctz(rows);
        write_logits(arguments, group, row, start, score_row(keys, shared, row, place), place.lane);
    }
}

__device__ __forceinline__ void clean_rows(const indexer_score_arguments &arguments,
                                           const row_group &group, u32 rows, u32 start, u32 lane)
{
    for (; rows; rows &= rows - 1)
        write_logits(arguments, group, (u32)__builtin_ctz(rows), start, row_logits{}, lane);
}

// Parts of the keys go round the workgroups of a group: `split` of `splits`.
__device__ __forceinline__ void score_group(const indexer_score_arguments &arguments,
                                            const row_group &group, u32 split, u32 splits,
                                            shared_queries &shared, const thread_place &place)
{
    const key_range columns = variant::clean ? key_range{0, (u32)arguments.columns} : group.hull;
    const u32 step = splits * INDEXER_SCORE_KEYS;
    const u32 first = columns.start / INDEXER_SCORE_KEYS;
    u32 start =
        (first + (split - first) % splits) * INDEXER_SCORE_KEYS + place.wave * keys_per_unit;

    key_registers keys;
    u32 rows = find_rows(group, {start, start + keys_per_unit});
    if (rows)
        load_keys(keys, arguments, group, start, place);
    if (group.hull.start < group.hull.end)
        start_queries(shared, arguments, group, place);
    wait_for_loads_to_lds();
    barrier_for_lds();

    while (start < columns.end) {
        score_rows(arguments, group, rows, start, keys, shared, place);
        if constexpr (variant::clean)
            clean_rows(arguments, group, ((1u << group.count) - 1) & ~rows, start, place.lane);
        start += step;
        rows = find_rows(group, {start, start + keys_per_unit});
        if (rows)
            load_keys(keys, arguments, group, start, place);
    }
}

extern "C" __global__ __launch_bounds__(INDEXER_SCORE_WORKGROUP_SIZE,
                                        2) void DSAJIT_KERNEL(indexer_score_arguments arguments)
{
    __shared__ shared_queries shared;
    const thread_place place = find_thread_place();
    const u32 splits = 1u << arguments.splits_log2;
    const u32 split = blockIdx.x % splits;
    const u32 index = blockIdx.x >> arguments.splits_log2;
    const u32 request = index / (u32)arguments.groups_per_request;
    const u32 group_of_request = index % (u32)arguments.groups_per_request;
    const u32 rows_per_request = (u32)arguments.rows_per_request;
    u32 first = request * rows_per_request + group_of_request * rows_per_group;
    const u32 end = smaller_of(first + rows_per_group, (request + 1) * rows_per_request);
    while (first < end) {
        const row_group group = find_group(arguments, first, end, request, place.lane);
        if (variant::clean || group.hull.start < group.hull.end)
            score_group(arguments, group, split, splits, shared, place);
        first += group.count;
        if (first < end)
            barrier_for_lds();
    }
}
