#include "entry_lookup.h"

#include "failure.h"

#include <string.h>
#include <unistd.h>

dsajit_status entry_lookup(dsajit_context *context, const char *name, char **path,
                           dsajit_error *error)
{
    dsajit_cache_explanation explanation = {0};
    dsajit_status status = DSAJIT_OK;
    const bool is_file = access(name, F_OK) == 0;
    if (!is_file)
        status = dsajit_cache_explain(context, name, &explanation, error);
    if (status)
        return status;
    if (is_file || explanation.hit) {
        *path = strdup(is_file ? name : explanation.path);
        if (!*path)
            status = failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
    } else {
        status = failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s: %s", name, explanation.reason);
    }
    dsajit_cache_explanation_free(&explanation);
    return status;
}
