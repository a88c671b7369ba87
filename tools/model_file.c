#include "model_file.h"

#include "command.h"
#include "failure.h"
#include "text_file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 4 << 20 };

enum { OPTION_TENSOR = 640, OPTION_DECODE_CONTEXT, OPTION_INTERLEAVE, OPTION_INDEXER };

static const struct argp_option option_table[] = {
    {"tp", OPTION_TENSOR, "N", 0, "The model's tensor parallel size (1)", 0},
    {"dcp", OPTION_DECODE_CONTEXT, "N", 0, "Its decode context parallel size (1)", 0},
    {"interleave", OPTION_INTERLEAVE, "N", 0,
     "Consecutive tokens that a decode context rank owns (1)", 0},
    {"indexer", OPTION_INDEXER, "fp8|mxfp4", 0, "Format of its index cache: fp8 or mxfp4 (fp8)", 0},
    {0},
};

static const char *const indexer_names[] = {
    [DSAJIT_INDEXER_FP8] = "fp8",
    [DSAJIT_INDEXER_MXFP4] = "mxfp4",
};

const char *model_indexer_name(dsajit_indexer_format format)
{
    return indexer_names[format];
}

static dsajit_indexer_format parse_indexer(const char *text, const struct argp_state *state)
{
    for (size_t i = 0; i < sizeof indexer_names / sizeof *indexer_names; i++)
        if (strcmp(text, indexer_names[i]) == 0)
            return (dsajit_indexer_format)i;
    argp_error(state, "--indexer is '%s'; fp8 and mxfp4 are allowed", text);
    return DSAJIT_INDEXER_FP8;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_layout(int key, char *argument, struct argp_state *state)
{
    enum { SIZE_MAX_ALLOWED = 1 << 20 };
    struct model_layout *layout = state->input;
    const struct {
        const char *name;
        int *size;
    } sizes[] = {
        /* As the enumeration has them. */
        {"tp", &layout->parallel.tensor},
        {"dcp", &layout->parallel.decode_context},
        {"interleave", &layout->parallel.interleave},
    };
    if (key >= OPTION_TENSOR && key <= OPTION_INTERLEAVE) {
        layout->option = sizes[key - OPTION_TENSOR].name;
        *sizes[key - OPTION_TENSOR].size =
            (int)command_parse_integer(layout->option, argument, 1, SIZE_MAX_ALLOWED, state);
        return 0;
    }
    if (key != OPTION_INDEXER)
        return ARGP_ERR_UNKNOWN;
    layout->option = "indexer";
    layout->indexer = parse_indexer(argument, state);
    return 0;
}

const struct argp model_layout_argp = {.options = option_table, .parser = parse_layout};

dsajit_status model_file_read(const char *path, const struct model_layout *layout,
                              dsajit_model *model, dsajit_error *error)
{
    char *text;
    size_t size;
    dsajit_error reason;
    dsajit_status status = text_file_read(path, FILE_BYTES_MAX, &text, &size, error);
    if (status)
        return status;
    status = dsajit_model_read(text, size, &layout->parallel, layout->indexer, model, &reason);
    free(text);
    return status ? failure_set(error, status, "%s: %s", path, reason.message) : DSAJIT_OK;
}
