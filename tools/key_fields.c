#include "key_fields.h"

#include <dsajit/cache.h>

#include <stdio.h>

static bool append(void *user, const dsajit_key_field *field)
{
    return json_array_append_new(user, json_pack("{s:s, s:s?, s:s?, s:b}", "name", field->name,
                                                 "wanted", field->wanted, "found", field->found,
                                                 "equal", field->equal)) == 0;
}

json_t *key_fields_compare(const char *wanted, const char *found, dsajit_error *error)
{
    json_t *fields = json_array();
    if (dsajit_cache_compare_keys(wanted, found, append, fields, error) == DSAJIT_OK)
        return fields;
    json_decref(fields);
    return NULL;
}

static void print_value(char mark, const char *name, const json_t *value)
{
    printf("  %c %-22s %s\n", mark, name,
           json_is_string(value) ? json_string_value(value) : "(not there)");
}

void key_fields_print(json_t *fields)
{
    size_t i;
    json_t *field;
    json_array_foreach(fields, i, field)
    {
        const char *name = json_string_value(json_object_get(field, "name"));
        const json_t *wanted = json_object_get(field, "wanted");
        if (json_is_true(json_object_get(field, "equal"))) {
            print_value(' ', name, wanted);
        } else {
            print_value('-', name, wanted);
            print_value('+', name, json_object_get(field, "found"));
        }
    }
}
