/* dsajit explain: why a variant is a hit or a miss. */
#include "key_fields.h"
#include "operands.h"

#include <dsajit/cache.h>

#include <stdio.h>

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp explain_argp = {
    .parser = operands_parse,
    .args_doc = "VARIANT",
    .doc = "Print a variant's cache key, whether an entry of it is found, and why it is or isn't: "
           "field by field against the most similar entry there is. Compiles nothing.",
    .children = children,
};

/* Against the most similar entry; against itself when there is none. */
static json_t *compare(const dsajit_cache_explanation *explanation, dsajit_error *error)
{
    const char *found = explanation->nearest_key ? explanation->nearest_key : explanation->key;
    return key_fields_compare(explanation->key, found, error);
}

static void print_json(const char *variant, const dsajit_cache_explanation *explanation,
                       json_t *fields)
{
    json_t *object = command_json("explain");
    json_t *nearest = json_null();
    if (explanation->nearest_path)
        nearest = json_pack("{s:s, s:I}", "path", explanation->nearest_path, "differences",
                            (json_int_t)explanation->differences);
    json_object_set_new(object, "variant", json_string(variant));
    json_object_set_new(object, "hit", json_boolean(explanation->hit));
    json_object_set_new(object, "reason", json_string(explanation->reason));
    json_object_set_new(object, "path",
                        explanation->path ? json_string(explanation->path) : json_null());
    json_object_set_new(object, "other_toolchain", json_boolean(explanation->other_toolchain));
    json_object_set_new(object, "key", json_string(explanation->key));
    json_object_set_new(object, "nearest", nearest);
    json_object_set(object, "fields", fields);
    command_print_json(object);
}

static void print_text(const char *variant, const dsajit_cache_explanation *explanation,
                       json_t *fields)
{
    printf("%-9s%s\n", explanation->hit ? "hit" : "miss", variant);
    printf("%-9s%s\n", "reason", explanation->reason);
    if (explanation->path)
        printf("%-9s%s%s\n", "entry", explanation->path,
               explanation->hit ? "" : " (where it would be)");
    if (explanation->nearest_path)
        printf("%-9s%s (+, where it differs)\n", "nearest", explanation->nearest_path);
    puts("key");
    key_fields_print(fields);
}

static dsajit_status explain(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct operands *options = user;
    const char *variant = options->items[0];
    dsajit_cache_explanation explanation;
    (void)code;
    dsajit_status status = dsajit_cache_explain(context, variant, &explanation, error);
    if (status)
        return status;
    json_t *fields = compare(&explanation, error);
    if (!fields)
        status = error->status;
    else if (options->common.json)
        print_json(variant, &explanation, fields);
    else
        print_text(variant, &explanation, fields);
    json_decref(fields);
    dsajit_cache_explanation_free(&explanation);
    return status;
}

int run_explain(int argc, char **argv)
{
    struct operands options = {
        .least = 1, .most = 1, .question = "which variant? dsajit variants lists them"};
    if (argp_parse(&explain_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    return command_run_body(&options.common, "explain", explain, &options);
}
