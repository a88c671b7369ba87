/* The description of a case, case.json: what the folders of all kernels have in common. An error
   names the file, the member, what it is and what it should be. */
#ifndef TOOLS_CASE_JSON_H
#define TOOLS_CASE_JSON_H

#include <dsajit/status.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct case_json {
    const char *directory;
    json_t *root;
};

/* Reads DIRECTORY/case.json, whose "kernel" must be `kernel`. NOT_FOUND when there is none, CORRUPT
   when it isn't that. */
dsajit_status case_json_open(const char *directory, const char *kernel, struct case_json *json,
                             dsajit_error *error);
void case_json_close(struct case_json *json);

/* A whole number. */
struct case_size {
    const char *name;
    int64_t least, most;
    int64_t *value;
};
dsajit_status case_json_sizes(const struct case_json *json, const struct case_size *sizes,
                              size_t count, dsajit_error *error);

/* A finite number. */
dsajit_status case_json_number(const struct case_json *json, const char *name, double *value,
                               dsajit_error *error);

/* true or false. */
dsajit_status case_json_flag(const struct case_json *json, const char *name, bool *value,
                             dsajit_error *error);

/* One of `count` texts; *value is which. */
dsajit_status case_json_choice(const struct case_json *json, const char *name,
                               const char *const *choices, size_t count, int *value,
                               dsajit_error *error);

#endif
