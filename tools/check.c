/* dsajit check: would a serving process have to compile? */
#include "selection.h"
#include "survey.h"

#include <stdio.h>

struct check_options {
    struct common_options common;
    struct selection_options selection;
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_check(int key, char *argument, struct argp_state *state)
{
    struct check_options *options = state->input;
    (void)argument;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = &options->selection;
    state->child_inputs[1] = &options->common;
    return 0;
}

static const struct argp_child children[] = {
    {&selection_argp, 0, NULL, 1}, {&common_argp, 0, "Output:", 2}, {0}};

const struct argp check_argp = {
    .parser = parse_check,
    .doc = "Look every variant of a plan up as a serving process would, without compiling, and "
           "list those that are missing and those whose entry is damaged. The exit code is 0 when "
           "all are there and 4 when not.",
    .children = children,
};

static int report(const struct check_options *options, const struct survey *survey)
{
    const size_t lacking = survey->missing + survey->bad;
    if (options->common.json) {
        json_t *object = command_json("check");
        json_object_set_new(object, "ok", json_boolean(lacking == 0));
        survey_add_json(survey, object);
        command_print_json(object);
    } else {
        survey_print(survey);
        printf("%zu of %zu variants are warm", survey->count - lacking, survey->count);
        if (lacking)
            printf(", %zu missing, %zu bad", survey->missing, survey->bad);
        putchar('\n');
    }
    return lacking ? EXIT_NOT_WARM : EXIT_DONE;
}

int run_check(int argc, char **argv)
{
    struct check_options options = {.selection = SELECTION_DEFAULT};
    if (argp_parse(&check_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    dsajit_plan *plan = NULL;
    struct survey survey = {0};
    dsajit_error error;
    dsajit_status status = selection_build_plan(&options.selection, &plan, &error);
    if (!status)
        status = survey_make(&options.common, plan, &survey, &error);
    const int code =
        status ? command_fail(&options.common, "check", &error) : report(&options, &survey);
    survey_free(&survey);
    dsajit_plan_free(plan);
    selection_free(&options.selection);
    return code;
}
