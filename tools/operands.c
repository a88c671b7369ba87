#include "operands.h"

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
error_t operands_parse(int key, char *argument, struct argp_state *state)
{
    struct operands *operands = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &operands->common;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= operands->most)
            return ARGP_ERR_UNKNOWN;
        operands->items[state->arg_num] = argument;
        return 0;
    case ARGP_KEY_END:
        if (state->arg_num < operands->least)
            argp_error(state, "%s", operands->question);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
