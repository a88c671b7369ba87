/* dsajit: the command. A user of the library's public API only. Results go to standard output,
   everything else to standard error. */
#include "completion.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_help(int argc, char **argv);
static const struct argp help_argp;

/* Every command. A new one is a row here and a file with its run function and options. */
static const struct command commands[] = {
    {"run sparse-mla", "run one sparse MLA problem and check the result", run_sparse_mla,
     &sparse_mla_argp},
    {"run indexer", "run one indexer problem and check the results", run_indexer, &indexer_argp},
    {"source", "print the specialised HIP source of a variant", run_source, &source_argp},
    {"isa", "print the disassembled machine code of a variant", run_isa, &isa_argp},
    {"variants", "list the variants there are", run_variants, &variants_argp},
    {"warmup", "have kernels compiled before anybody waits for them", run_warmup, &warmup_argp},
    {"check", "list the variants that are missing from the cache", run_check, &check_argp},
    {"explain", "say why a variant is in the cache or not", run_explain, &explain_argp},
    {"cache list", "list the entries of the cache", run_cache_list, &cache_list_argp},
    {"cache show", "show what an entry holds", run_cache_show, &cache_show_argp},
    {"cache verify", "read every entry and find the bad ones", run_cache_verify,
     &cache_verify_argp},
    {"cache stats", "count what is in the cache", run_cache_stats, &cache_stats_argp},
    {"cache path", "print the cache directory", run_cache_path, &cache_path_argp},
    {"cache prune", "remove old, stale or too many entries", run_cache_prune, &cache_prune_argp},
    {"cache clear", "remove everything from the cache directory", run_cache_clear,
     &cache_clear_argp},
    {"cache export", "write entries into one archive", run_cache_export, &cache_export_argp},
    {"cache import", "take the entries of such an archive", run_cache_import, &cache_import_argp},
    {"cache keygen", "make keys that sign archives", run_cache_keygen, &cache_keygen_argp},
    {"cache diff", "compare two entries", run_cache_diff, &cache_diff_argp},
    {"model show", "print what a model's sparse attention needs", run_model_show, &model_show_argp},
    {"config", "print every setting and where it comes from", run_config, &config_argp},
    {"doctor", "look at the device, the compiler and the cache", run_doctor, &doctor_argp},
    {"help", "explain a command", run_help, &help_argp},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static const struct {
    int code;
    const char *meaning;
} exit_codes[] = {
    {EXIT_DONE, "done, and right"},
    {EXIT_PROBLEM, "an unexpected error, unusable input, or a result outside the tolerance"},
    {EXIT_USAGE, "wrong usage, or a problem that is not served"},
    {EXIT_COMPILE_FAILED, "a variant failed to compile"},
    {EXIT_NOT_WARM, "variants are missing, or entries of the cache are bad"},
    {EXIT_CACHE_UNUSABLE, "the cache directory can't be used"},
    {EXIT_TOOLCHAIN_MISSING, "hipRTC, comgr or the compiler helper is missing"},
    {EXIT_TIMED_OUT, "a time limit passed"},
    {EXIT_NO_DEVICE, "no HIP runtime with a gfx950"},
    {EXIT_INTERRUPTED + SIGINT, "interrupted; what is finished stays"},
    {EXIT_INTERRUPTED + SIGTERM, "terminated; what is finished stays"},
};

/* How many words of `words` the command's name takes up; 0 when it is another command. */
static int match_name(const struct command *command, int count, char **words)
{
    const char *rest = command->name;
    for (int i = 0; i < count; i++) {
        const size_t size = strlen(words[i]);
        if (strncmp(rest, words[i], size) != 0)
            return 0;
        if (rest[size] == '\0')
            return i + 1;
        if (rest[size] != ' ')
            return 0;
        rest += size + 1;
    }
    return 0;
}

static const struct command *find_command(int count, char **words, int *used)
{
    for (size_t i = 0; i < command_count; i++)
        if ((*used = match_name(&commands[i], count, words)) > 0)
            return &commands[i];
    return NULL;
}

/* The text of dsajit --help after the options. */
static char *list_commands(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)text; /* as argp wants it */
    char *list = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&list, &size);
    if (!stream)
        return NULL;
    fputs("Commands:\n", stream);
    for (size_t i = 0; i < command_count; i++)
        fprintf(stream, "  %-16s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExit codes:\n", stream);
    for (size_t i = 0; i < sizeof exit_codes / sizeof *exit_codes; i++)
        fprintf(stream, "  %-3d  %s\n", exit_codes[i].code, exit_codes[i].meaning);
    fputs("\ndsajit help COMMAND explains a command.", stream);
    fclose(stream);
    return list;
}

/* Stops at the first word that is no option: the command's name starts there. */
/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_main(int key, char *argument, struct argp_state *state)
{
    int *first = state->input;
    (void)argument;
    switch (key) {
    case 'V':
        printf("dsajit %s\n", dsajit_version());
        exit(EXIT_DONE);
    case ARGP_KEY_ARG:
        *first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which command?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option main_table[] = {
    {"version", 'V', NULL, 0, "Print the library's version", 0},
    {0},
};

static const struct argp main_argp = {
    .options = main_table,
    .parser = parse_main,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = "DeepSeek Sparse Attention kernels for AMD gfx950, generated, compiled and cached.",
    .help_filter = list_commands,
};

/* True when the name's first word is `word`, and not its only one. */
static bool is_in_group(const struct command *command, const char *word)
{
    const size_t size = strlen(word);
    return strncmp(command->name, word, size) == 0 && command->name[size] == ' ';
}

/* "dsajit cache --help": what there is of that first word. False when there is nothing. */
static bool explain_group(int count, char **words)
{
    bool any = false;
    if (count < 2 || (strcmp(words[1], "--help") != 0 && strcmp(words[1], "-?") != 0))
        return false;
    for (size_t i = 0; i < command_count; i++) {
        if (is_in_group(&commands[i], words[0])) {
            printf("  %-16s %s\n", commands[i].name, commands[i].summary);
            any = true;
        }
    }
    return any;
}

static int refuse_command(int count, char **words)
{
    fprintf(stderr, "dsajit: there is no command '%s%s%s'", words[0], count > 1 ? " " : "",
            count > 1 ? words[1] : "");
    bool any = false;
    for (size_t i = 0; i < command_count; i++) {
        if (is_in_group(&commands[i], words[0])) {
            fprintf(stderr, "%s%s", any ? ", " : "; there are: ", commands[i].name);
            any = true;
        }
    }
    fputs(any ? "\n" : "; dsajit help lists them\n", stderr);
    return EXIT_USAGE;
}

struct help_words {
    int count;
    char **first;
    bool completion;
};

enum { OPTION_COMPLETION = 256 };

static const struct argp_option help_table[] = {
    {"completion", OPTION_COMPLETION, NULL, OPTION_HIDDEN, "List commands and options for shells",
     0},
    {0},
};

/* NOLINTNEXTLINE(readability-non-const-parameter): argp gives the type */
static error_t parse_help(int key, char *argument, struct argp_state *state)
{
    struct help_words *words = state->input;
    (void)argument;
    switch (key) {
    case OPTION_COMPLETION:
        words->completion = true;
        return 0;
    case ARGP_KEY_ARGS:
        words->count = state->argc - state->next;
        words->first = state->argv + state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp help_argp = {
    .options = help_table,
    .parser = parse_help,
    .args_doc = "[COMMAND]",
    .doc = "Explain a command, or list all.",
};

static int run_help(int argc, char **argv)
{
    struct help_words words = {0};
    if (argp_parse(&help_argp, argc, argv, 0, NULL, &words))
        return EXIT_PROBLEM;
    if (words.completion) {
        completion_print(commands, command_count);
        return EXIT_DONE;
    }
    const unsigned flags = ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK;
    char name[64] = "dsajit";
    if (words.count == 0) {
        argp_help(&main_argp, stdout, flags, name);
        return EXIT_DONE;
    }
    int used;
    const struct command *command = find_command(words.count, words.first, &used);
    if (!command || used != words.count)
        return refuse_command(words.count, words.first);
    snprintf(name, sizeof name, "dsajit %s", command->name);
    argp_help(command->options, stdout, flags, name);
    return EXIT_DONE;
}

/* The command gets its words as one argv[0], which argp's messages then name. */
static int run_command(int count, char **words)
{
    int used;
    const struct command *command = find_command(count, words, &used);
    if (!command)
        return explain_group(count, words) ? EXIT_DONE : refuse_command(count, words);
    char name[64];
    snprintf(name, sizeof name, "dsajit %s", command->name);
    words[used - 1] = name;
    return command->run(count - used + 1, words + used - 1);
}

int main(int argc, char **argv)
{
    argp_err_exit_status = EXIT_USAGE;
    int first = argc;
    if (argp_parse(&main_argp, argc, argv, ARGP_IN_ORDER, NULL, &first))
        return EXIT_PROBLEM;
    int code = run_command(argc - first, argv + first);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "dsajit: writing standard output: %s\n", strerror(errno));
        code = EXIT_PROBLEM;
    }
    return code;
}
