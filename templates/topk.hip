// Per row of logits the positions of the k largest, in any order.
//
// One workgroup of 16 waves per row, two workgroups per CU:
//
//     1  counts the first digits of all scores and finds the one in which the k-th is
//     2  copies the survivors, all scores that are not below that digit, to a list in LDS
//     3  finds the k-th digit by digit, in the list alone
//     4  writes the k
//
// A row that fits in the list skips step 1. A row in which too many scores have the same first
// digit repeats it with the next digits, reading the row again each time.
#include "digit_search.hpp"
#include "topk_row.hpp"

static_assert(sizeof(topk_arguments) == 80, "the same layout as on the host");

struct survivor {
    float score;
    u32 position;
};

// As long as two workgroups fit in the 160 KiB of a CU. However many scores are equal, the fourth
// level leaves fewer than k above its digit and at most 2048 positions in it.
constexpr u32 survivors_max = 7936;
static_assert(survivors_max >= TOPK_K_MAX + digits, "the fourth level always fits");

struct shared_memory {
    digit_counts counts;
    survivor list[survivors_max];
    u32 list_length;
    u32 above_written, inside_written;
};
static_assert(sizeof(shared_memory) <= 80 * 1024, "two workgroups per CU");

struct output_row {
    global_pointer<int> ids;
    global_pointer<float> scores;

    __device__ __forceinline__ void write(u32 place, int id, float score) const
    {
        ids[place] = id;
        if constexpr (variant::scores)
            scores[place] = score;
    }
};

__device__ __forceinline__ output_row find_output(const topk_arguments &arguments, u32 row)
{
    return {(global_pointer<int>)arguments.ids + row * arguments.ids_stride,
            (global_pointer<float>)arguments.scores + row * arguments.scores_stride};
}

// A row of at most k: all of it, in order, then padding.
__device__ __forceinline__ void write_whole_row(const output_row &output, const logits_row &row,
                                                u32 k)
{
    for (u32 place = threadIdx.x; place < k; place += threads) {
        if (place < row.length)
            output.write(place, (int)place, variant::scores ? row.first[place] : 0);
        else
            output.write(place, -1, -__builtin_inff());
    }
}

template <class Visit>
__device__ __forceinline__ void visit_list(const shared_memory &shared, Visit visit)
{
    for (u32 i = threadIdx.x; i < shared.list_length; i += threads)
        visit(shared.list[i].score, shared.list[i].position);
}

__device__ __forceinline__ bool too_many_survive(const digit_search &search)
{
    return search.above + search.inside > survivors_max;
}

// Step 1.
template <class Row>
__device__ __forceinline__ void search_first_digit(digit_search &search, const Row &row,
                                                   digit_counts &counts)
{
    row.visit_each([&](float score, u32) { count_digit(counts, rank_of(score) >> 21); });
    narrow(search, counts);
}

// Step 2. Of a long row almost all scores are below, which one comparison tells.
template <class Row>
__device__ __forceinline__ void list_survivors(const digit_search &search, const Row &row,
                                               shared_memory &shared)
{
    const float first_score = first_score_of(search.scores.low);
    row.visit_each([&](float score, u32 position) {
        if (__builtin_expect(!(score < first_score), false) && search.reaches(score, position))
            shared.list[take_place(shared.list_length)] = {score, position};
    });
}

// Steps 1 and 2 for a row that fits in registers, and so is read once. Nothing is listed if one
// digit isn't enough.
__device__ __forceinline__ void select_held(digit_search &search, const logits_row &row,
                                            shared_memory &shared)
{
    const held_row held(row);
    search_first_digit(search, held, shared.counts);
    if (!too_many_survive(search))
        list_survivors(search, held, shared);
}

// Steps 1 and 2 for a row that is read for each digit, and for the list.
__device__ __forceinline__ void select_streamed(digit_search &search, const logits_row &row,
                                                shared_memory &shared)
{
    const streamed_row streamed(row);
    if (search.level == 0 && too_many_survive(search))
        search_first_digit(search, streamed, shared.counts);
    while (too_many_survive(search)) {
        streamed.visit_each(
            [&](float score, u32 position) { count(shared.counts, search, score, position); });
        narrow(search, shared.counts);
    }
    list_survivors(search, streamed, shared);
}

// Step 3. Where ties may be broken in any way, the positions need no search.
__device__ __forceinline__ void find_last(digit_search &search, shared_memory &shared)
{
    constexpr u32 levels = variant::stable ? all_levels : score_levels;
    while (search.inside != search.wanted && search.level < levels) {
        visit_list(shared, [&](float score, u32 position) {
            count(shared.counts, search, score, position);
        });
        narrow(search, shared.counts);
    }
}

// Step 4. What is in the interval follows what is above it, until there are k.
__device__ __forceinline__ void write_selected(const digit_search &search, shared_memory &shared,
                                               const output_row &output)
{
    visit_list(shared, [&](float score, u32 position) {
        if (search.is_above(score, position)) {
            output.write(take_place(shared.above_written), (int)position, score);
        } else if (search.reaches(score, position)) {
            const u32 place = take_place(shared.inside_written);
            if (place < search.wanted)
                output.write(search.above + place, (int)position, score);
        }
    });
}

// Causal rows grow with their number: the longest start first.
extern "C" __global__ __launch_bounds__(TOPK_WORKGROUP_SIZE,
                                        8) void DSAJIT_KERNEL(topk_arguments arguments)
{
    __shared__ shared_memory shared;
    const u32 number = (u32)arguments.rows - 1 - blockIdx.x;
    const u32 k = (u32)arguments.k;
    const logits_row row = find_row(arguments, number);
    const output_row output = find_output(arguments, number);
    if (row.length <= k) {
        write_whole_row(output, row, k);
        return;
    }

    clear(shared.counts);
    if (threadIdx.x == 0)
        shared.list_length = shared.above_written = shared.inside_written = 0;
    barrier_for_lds();

    digit_search search(row.length, k);
    if (too_many_survive(search) && row.vectors <= held_vectors * threads)
        select_held(search, row, shared);
    u32 listed = search.level != 0 && !too_many_survive(search);
    // Hides from the compiler what this has to do with the condition above. It would join the two
    // blocks, and keep the row in registers through the second.
    asm volatile("" : "+v"(listed));
    if (!same_in_all_lanes(listed))
        select_streamed(search, row, shared);
    barrier_for_lds();
    find_last(search, shared);
    write_selected(search, shared, output);
}
