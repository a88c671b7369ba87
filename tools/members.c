#include "members.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

static void print_lines(const char *text, int width)
{
    for (const char *line = text; *line;) {
        const size_t size = strcspn(line, "\n");
        printf("%*s%.*s\n", line == text ? 0 : INDENT + width, "", (int)size, line);
        line += size + (line[size] == '\n');
    }
}

static void print_value(const json_t *value, int width)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        print_lines(json_string_value(value), width);
        break;
    case JSON_INTEGER:
        printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
        break;
    case JSON_REAL:
        printf("%.9g\n", json_real_value(value));
        break;
    default:
        puts(json_is_true(value) ? "yes" : "no");
    }
}

void members_print(json_t *object, int width)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        const char *text = json_string_value(value);
        const bool empty = json_is_null(value) || (text && !*text);
        if (empty || json_is_array(value) || json_is_object(value))
            continue;
        printf("%*s%-*s", INDENT, "", width, name);
        print_value(value, width);
    }
}
