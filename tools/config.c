/* dsajit config: every setting, its value and what it comes from. */
#include "operands.h"

#include <dsajit/inspect.h>

#include <stdio.h>

static const struct argp_child children[] = COMMON_CHILDREN;

const struct argp config_argp = {
    .parser = operands_parse,
    .doc = "Print every setting as an environment variable, its value, and what the value comes "
           "from. Warns of DSAJIT_ variables in the environment that nothing knows.",
    .children = children,
};

struct settings {
    bool json;
    json_t *known, *unknown;
};

static void print_setting(const dsajit_setting *setting)
{
    printf("%s=%s\n", setting->variable, setting->value ? setting->value : "");
    printf("    %s (%s)\n", setting->meaning, setting->origin);
}

static bool show(void *user, const dsajit_setting *setting)
{
    struct settings *settings = user;
    if (!setting->meaning) {
        fprintf(stderr, "dsajit: warning: the environment has %s, which means nothing here\n",
                setting->variable);
        json_array_append_new(settings->unknown, json_string(setting->variable));
    } else if (settings->json) {
        json_array_append_new(settings->known,
                              json_pack("{s:s, s:s?, s:s, s:s}", "variable", setting->variable,
                                        "value", setting->value, "origin", setting->origin,
                                        "meaning", setting->meaning));
    } else {
        print_setting(setting);
    }
    return true;
}

int run_config(int argc, char **argv)
{
    struct operands options = {0};
    if (argp_parse(&config_argp, argc, argv, 0, NULL, &options))
        return EXIT_PROBLEM;
    struct settings settings = {options.common.json, json_array(), json_array()};
    dsajit_error error;
    const dsajit_status status = dsajit_visit_settings(show, &settings, &error);
    if (status)
        fprintf(stderr, "dsajit: %s\n", error.message);
    if (options.common.json) {
        json_t *object = command_json("config");
        json_object_set(object, "settings", settings.known);
        json_object_set(object, "unknown", settings.unknown);
        if (status)
            json_object_set_new(object, "error", command_json_error(&error));
        command_print_json(object);
    }
    json_decref(settings.known);
    json_decref(settings.unknown);
    return (int)command_exit_code(status);
}
