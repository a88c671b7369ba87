#include "case_json.h"

#include "failure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dsajit_status check_kernel(const struct case_json *json, const char *kernel,
                                  dsajit_error *error)
{
    const char *named = json_string_value(json_object_get(json->root, "kernel"));
    if (named && strcmp(named, kernel) == 0)
        return DSAJIT_OK;
    const char *quote = named ? "\"" : "";
    return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s/case.json: \"kernel\" is %s%s%s, not %s",
                       json->directory, quote, named ? named : "not a text", quote, kernel);
}

dsajit_status case_json_open(const char *directory, const char *kernel, struct case_json *json,
                             dsajit_error *error)
{
    char *path;
    *json = (struct case_json){.directory = directory};
    if (asprintf(&path, "%s/case.json", directory) < 0)
        return failure_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a path");
    json_error_t wrong;
    json->root = json_load_file(path, JSON_REJECT_DUPLICATES, &wrong);
    dsajit_status status;
    if (json->root)
        status = check_kernel(json, kernel, error);
    else if (json_error_code(&wrong) == json_error_cannot_open_file)
        status = failure_set(error, DSAJIT_ERROR_NOT_FOUND, "%s", wrong.text);
    else
        status = failure_set(error, DSAJIT_ERROR_CORRUPT, "%s, line %d: %s", path, wrong.line,
                             wrong.text);
    free(path);
    if (status)
        case_json_close(json);
    return status;
}

void case_json_close(struct case_json *json)
{
    json_decref(json->root);
    json->root = NULL;
}

/* `name` isn't there or isn't `wanted`, "a whole number" for instance. */
static dsajit_status refuse(const struct case_json *json, const char *name, const char *wanted,
                            dsajit_error *error)
{
    return failure_set(error, DSAJIT_ERROR_CORRUPT, "%s/case.json: \"%s\" is not %s",
                       json->directory, name, wanted);
}

static dsajit_status read_size(const struct case_json *json, const struct case_size *size,
                               dsajit_error *error)
{
    const json_t *value = json_object_get(json->root, size->name);
    if (!json_is_integer(value))
        return refuse(json, size->name, "a whole number", error);
    *size->value = json_integer_value(value);
    if (*size->value >= size->least && *size->value <= size->most)
        return DSAJIT_OK;
    return failure_set(error, DSAJIT_ERROR_CORRUPT,
                       "%s/case.json: \"%s\" is %" PRId64 "; from %" PRId64 " to %" PRId64
                       " is allowed",
                       json->directory, size->name, *size->value, size->least, size->most);
}

dsajit_status case_json_sizes(const struct case_json *json, const struct case_size *sizes,
                              size_t count, dsajit_error *error)
{
    dsajit_status status = DSAJIT_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = read_size(json, &sizes[i], error);
    return status;
}

dsajit_status case_json_number(const struct case_json *json, const char *name, double *value,
                               dsajit_error *error)
{
    const json_t *number = json_object_get(json->root, name);
    *value = json_number_value(number);
    return json_is_number(number) && isfinite(*value) ? DSAJIT_OK
                                                      : refuse(json, name, "a number", error);
}

dsajit_status case_json_flag(const struct case_json *json, const char *name, bool *value,
                             dsajit_error *error)
{
    const json_t *flag = json_object_get(json->root, name);
    *value = json_is_true(flag);
    return json_is_boolean(flag) ? DSAJIT_OK : refuse(json, name, "true or false", error);
}

dsajit_status case_json_choice(const struct case_json *json, const char *name,
                               const char *const *choices, size_t count, int *value,
                               dsajit_error *error)
{
    const char *text = json_string_value(json_object_get(json->root, name));
    char wanted[64] = "";
    for (size_t i = 0, used = 0; i < count; i++) {
        if (text && strcmp(text, choices[i]) == 0) {
            *value = (int)i;
            return DSAJIT_OK;
        }
        if (used < sizeof wanted)
            used += (size_t)snprintf(wanted + used, sizeof wanted - used, "%s\"%s\"",
                                     i ? " or " : "", choices[i]);
    }
    return refuse(json, name, wanted, error);
}
