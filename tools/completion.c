#include "completion.h"

#include <stdio.h>

/* A row of options ends with one that has neither name, key nor text. */
static bool is_end(const struct argp_option *option)
{
    return !option->name && !option->key && !option->doc && !option->group;
}

static void print_options(const struct argp *argp)
{
    for (const struct argp_option *option = argp->options; option && !is_end(option); option++) {
        if (!option->name || option->flags & OPTION_HIDDEN)
            continue;
        printf(" --%s", option->name);
        if (option->arg)
            printf("=%s", option->arg);
    }
    for (const struct argp_child *child = argp->children; child && child->argp; child++)
        print_options(child->argp);
}

void completion_print(const struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        printf("%s\t--help --usage", commands[i].name);
        print_options(commands[i].options);
        putchar('\n');
    }
}
