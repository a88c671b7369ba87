#include "runtime/dcp.h"

dsajit_status dcp_check_place(const dsajit_dcp_place *place, dsajit_error *error)
{
    if (place->ranks < 1 || place->ranks > DSAJIT_DCP_RANKS_MAX)
        return error_set(error, DSAJIT_ERROR_UNSUPPORTED, "place.ranks is %d; 1 to %d are served",
                         place->ranks, DSAJIT_DCP_RANKS_MAX);
    if (place->rank < 0 || place->rank >= place->ranks)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "place.rank is %d; 0 to place.ranks - 1 = %d are allowed", place->rank,
                         place->ranks - 1);
    if (place->interleave < 1 || place->interleave > INT32_MAX / place->ranks)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "place.interleave is %d; 1 to %d are allowed for %d ranks",
                         place->interleave, INT32_MAX / place->ranks, place->ranks);
    return DSAJIT_OK;
}

dcp_place dcp_kernel_place(const dsajit_dcp_place *place)
{
    return (dcp_place){
        .ranks = (unsigned)place->ranks,
        .rank = (unsigned)place->rank,
        .interleave = (unsigned)place->interleave,
    };
}
