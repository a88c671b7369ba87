/* A model's config.json, and the options that say how the model is spread over devices. */
#ifndef TOOLS_MODEL_FILE_H
#define TOOLS_MODEL_FILE_H

#include <argp.h>
#include <dsajit/model.h>

struct model_layout {
    dsajit_parallel_layout parallel;
    dsajit_indexer_format indexer;
    const char *option; /* the last one that was given; NULL: none was */
};

#define MODEL_LAYOUT_DEFAULT                                                                       \
    {                                                                                              \
        DSAJIT_PARALLEL_LAYOUT_DEFAULT, DSAJIT_INDEXER_FP8, NULL                                   \
    }

/* --tp, --dcp, --interleave and --indexer: an argp child whose input is a struct model_layout. */
extern const struct argp model_layout_argp;

const char *model_indexer_name(dsajit_indexer_format format);

/* Errors as dsajit_model_read's, and those of reading a file of at most 4 MiB; all name it. */
dsajit_status model_file_read(const char *path, const struct model_layout *layout,
                              dsajit_model *model, dsajit_error *error);

#endif
