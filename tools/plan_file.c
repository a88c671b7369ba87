#include "plan_file.h"

#include "failure.h"
#include "text_file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 20 };

static dsajit_status add_selections(const char *path, json_t *list, dsajit_plan *plan,
                                    dsajit_error *error)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        dsajit_error reason;
        const char *text = json_string_value(item);
        if (!text || strlen(text) != json_string_length(item))
            return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s: variants[%zu] is no text", path,
                               i);
        const dsajit_status status = dsajit_plan_add(plan, text, &reason);
        if (status)
            return failure_set(error, status, "%s: variants[%zu]: %s", path, i, reason.message);
    }
    return DSAJIT_OK;
}

/* A member that this program doesn't know may change what is meant: it is refused. */
static dsajit_status check_members(const char *path, json_t *root, dsajit_error *error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(root))
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s is no JSON object", path);
    json_object_foreach(root, name, value)
    {
        if (strcmp(name, "schema") != 0 && strcmp(name, "variants") != 0)
            return failure_set(
                error, DSAJIT_ERROR_CORRUPT,
                "%s: unknown member \"%.64s\"; \"schema\" and \"variants\" are known", path, name);
    }
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_integer(schema) || json_integer_value(schema) != 1)
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s: \"schema\" is not 1", path);
    if (!json_is_array(json_object_get(root, "variants")))
        return failure_set(error, DSAJIT_ERROR_CORRUPT,
                           "%s: \"variants\" is not a list of selections", path);
    return DSAJIT_OK;
}

dsajit_status plan_file_add(const char *path, dsajit_plan *plan, dsajit_error *error)
{
    char *text;
    size_t size;
    dsajit_status status = text_file_read(path, FILE_BYTES_MAX, &text, &size, error);
    if (status)
        return status;
    json_error_t wrong;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong);
    free(text);
    if (!root)
        return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s: line %d, column %d: %s", path,
                           wrong.line, wrong.column, wrong.text);
    status = check_members(path, root, error);
    if (!status)
        status = add_selections(path, json_object_get(root, "variants"), plan, error);
    json_decref(root);
    return status;
}
