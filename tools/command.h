/* What the commands of `dsajit` share: the table's row, common options, how a failure ends. */
#ifndef TOOLS_COMMAND_H
#define TOOLS_COMMAND_H

#include <argp.h>
#include <dsajit/dsajit.h>
#include <jansson.h>

/* One row of the table in main.c. `run` parses with the row's own argp; argv[0] is the whole name,
   "dsajit run sparse-mla", and it returns an exit code. */
struct command {
    const char *name; /* the words after dsajit */
    const char *summary;
    int (*run)(int argc, char **argv);
    const struct argp *options;
};

/* Frozen; the manual page and --help list them. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_PROBLEM = 1,
    EXIT_USAGE = 2,
    EXIT_COMPILE_FAILED = 3,
    EXIT_NOT_WARM = 4,
    EXIT_CACHE_UNUSABLE = 5,
    EXIT_TOOLCHAIN_MISSING = 6,
    EXIT_TIMED_OUT = 7,
    EXIT_NO_DEVICE = 8,
    EXIT_INTERRUPTED = 128 /* and the signal's number */
};

/* Options that every command has, through common_argp as a child whose input is one of these. */
struct common_options {
    bool json;
    int verbosity; /* 0: warnings and errors; 1: information; 2: debugging */
};
extern const struct argp common_argp;
#define COMMON_CHILDREN                                                                            \
    {                                                                                              \
        {&common_argp, 0, NULL, 0},                                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* "auto", "hip", "emulator"; ends the program as a usage error for anything else. */
dsajit_device_kind command_parse_device(const char *text, const struct argp_state *state);
const char *command_device_name(dsajit_device_kind kind);
const char *command_origin_name(dsajit_origin origin);

/* A whole number from `least` to `most`; ends the program as a usage error for anything else. */
int64_t command_parse_integer(const char *name, const char *text, int64_t least, int64_t most,
                              const struct argp_state *state);

/* Prints a message of the library on standard error, if the options want its level. */
void command_log(const struct common_options *common, dsajit_log_level level, const char *message);

/* Opens a context that logs to standard error. */
dsajit_status command_open(struct common_options *common, dsajit_device_kind device,
                           dsajit_context **context, dsajit_error *error);

enum exit_code command_exit_code(dsajit_status status);

/* The body of a command that needs a context but no device. A failure is told for it; *code, which
   is EXIT_DONE before, may be set to the exit code, also of a failure that would give another. */
typedef dsajit_status command_body(dsajit_context *context, void *options, int *code,
                                   dsajit_error *error);

/* Opens a context and runs the body; returns the exit code. */
int command_run_body(struct common_options *common, const char *command, command_body *body,
                     void *options);

/* Tells a failure (and, with --json, prints it as the command's object); returns its exit code. */
int command_fail(const struct common_options *common, const char *command,
                 const dsajit_error *error);

/* The start of every JSON result: schema and command. */
json_t *command_json(const char *command);
/* A failure, as it stands in a result's "error". */
json_t *command_json_error(const dsajit_error *error);
/* A number, or null for one that JSON has no way to write. */
json_t *command_json_number(double value);
/* Prints and frees it. */
void command_print_json(json_t *object);

int run_sparse_mla(int argc, char **argv);
int run_indexer(int argc, char **argv);
int run_source(int argc, char **argv);
int run_isa(int argc, char **argv);
int run_variants(int argc, char **argv);
int run_warmup(int argc, char **argv);
int run_check(int argc, char **argv);
int run_explain(int argc, char **argv);
int run_cache_list(int argc, char **argv);
int run_cache_show(int argc, char **argv);
int run_cache_verify(int argc, char **argv);
int run_cache_stats(int argc, char **argv);
int run_cache_path(int argc, char **argv);
int run_cache_prune(int argc, char **argv);
int run_cache_clear(int argc, char **argv);
int run_cache_export(int argc, char **argv);
int run_cache_import(int argc, char **argv);
int run_cache_keygen(int argc, char **argv);
int run_cache_diff(int argc, char **argv);
int run_model_show(int argc, char **argv);
int run_config(int argc, char **argv);
int run_doctor(int argc, char **argv);
extern const struct argp sparse_mla_argp, indexer_argp, source_argp, isa_argp, variants_argp,
    warmup_argp, check_argp, explain_argp, cache_list_argp, cache_show_argp, cache_verify_argp,
    cache_stats_argp, cache_path_argp, cache_prune_argp, cache_clear_argp, cache_export_argp,
    cache_import_argp, cache_keygen_argp, cache_diff_argp, model_show_argp, config_argp,
    doctor_argp;

#endif
