/* dsajit source, isa and variants: what can be said of a variant without a device. */
#include "operands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_child children[] = COMMON_CHILDREN;

#define VARIANT_ARGP(arguments, text)                                                              \
    {                                                                                              \
        .parser = operands_parse, .args_doc = (arguments), .doc = (text), .children = children     \
    }
const struct argp source_argp = VARIANT_ARGP(
    "VARIANT", "Print the specialised HIP source of a variant: one self-contained translation "
               "unit, the same bytes for the same variant.");
const struct argp isa_argp = VARIANT_ARGP(
    "VARIANT", "Print the disassembled machine code of a variant, compiling it if it is not "
               "cached.");
const struct argp variants_argp = VARIANT_ARGP(
    "[SELECTION]", "List the canonical text of every variant that a selection covers: a variant "
                   "text with parts left out, \"sparse_mla/gfx950/heads=8\" for instance.");

typedef dsajit_status text_function(dsajit_context *context, const char *variant, dsajit_text *text,
                                    dsajit_error *error);

struct text_command {
    struct operands operands;
    const char *name;
    text_function *get;
};

static dsajit_status print_text(dsajit_context *context, void *user, int *code, dsajit_error *error)
{
    const struct text_command *command = user;
    const char *variant = command->operands.items[0];
    dsajit_text text;
    (void)code;
    dsajit_status status = command->get(context, variant, &text, error);
    if (status)
        return status;
    if (command->operands.common.json) {
        json_t *object = command_json(command->name);
        json_object_set_new(object, "variant", json_string(variant));
        json_object_set_new(object, command->name, json_stringn(text.data, text.size));
        command_print_json(object);
    } else {
        fwrite(text.data, 1, text.size, stdout);
    }
    dsajit_text_free(&text);
    return DSAJIT_OK;
}

static int run_text_command(int argc, char **argv, const struct argp *argp, const char *name,
                            text_function *get)
{
    struct text_command command = {
        .operands = {.least = 1,
                     .most = 1,
                     .question = "which variant? dsajit variants lists them"},
        .name = name,
        .get = get,
    };
    if (argp_parse(argp, argc, argv, 0, NULL, &command))
        return EXIT_PROBLEM;
    return command_run_body(&command.operands.common, name, print_text, &command);
}

int run_source(int argc, char **argv)
{
    return run_text_command(argc, argv, &source_argp, "source", dsajit_get_source);
}

int run_isa(int argc, char **argv)
{
    return run_text_command(argc, argv, &isa_argp, "isa", dsajit_get_isa);
}

static bool print_variant(void *user, const char *variant)
{
    (void)user;
    return puts(variant) >= 0;
}

static bool append_variant(void *user, const char *variant)
{
    return json_array_append_new(user, json_string(variant)) == 0;
}

int run_variants(int argc, char **argv)
{
    struct operands options = {.most = 1};
    if (argp_parse(&variants_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    dsajit_error error;
    json_t *list = json_array();
    dsajit_status status = dsajit_visit_variants(
        options.items[0], options.common.json ? append_variant : print_variant, list, &error);
    if (status) {
        json_decref(list);
        return command_fail(&options.common, "variants", &error);
    }
    if (options.common.json) {
        json_t *object = command_json("variants");
        json_object_set_new(object, "variants", list);
        command_print_json(object);
    } else {
        json_decref(list);
    }
    return EXIT_DONE;
}
