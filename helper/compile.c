/* Source to code object, through hipRTC. */
#include "compiler_log.h"
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* hipRTC's arguments out of a request's fields. */
struct arguments {
    char *source, *name;
    const char **options; /* owned, each too */
    int option_count;
};

static void free_arguments(struct arguments *arguments)
{
    free(arguments->source);
    free(arguments->name);
    for (int i = 0; i < arguments->option_count; i++)
        free((char *)arguments->options[i]);
    free(arguments->options);
}

static char *find_text(const struct bytes *request, enum message_tag tag)
{
    struct message_field field;
    return message_find(request, tag, &field) ? message_copy_text(&field) : NULL;
}

/* hipRTC's option for the target; without it hipRTC asks the machine's GPU. */
static char *target_option(const struct bytes *request)
{
    char *option = NULL;
    char *target = find_text(request, TAG_TARGET);
    if (target && asprintf(&option, "--offload-arch=%s", target) < 0)
        option = NULL;
    free(target);
    return option;
}

static bool add_option(struct arguments *arguments, char *option)
{
    if (option)
        arguments->options[arguments->option_count++] = option;
    return option;
}

static bool read_arguments(const struct bytes *request, struct arguments *arguments)
{
    size_t offset = 0, count = 1;
    struct message_field field;
    while (message_next(request, &offset, &field))
        count += field.tag == TAG_OPTION;
    arguments->options = calloc(count, sizeof *arguments->options);
    arguments->source = find_text(request, TAG_SOURCE);
    arguments->name = find_text(request, TAG_NAME);
    bool whole = arguments->options && arguments->source && arguments->name &&
                 add_option(arguments, target_option(request));
    offset = 0;
    while (whole && message_next(request, &offset, &field)) {
        if (field.tag == TAG_OPTION)
            whole = add_option(arguments, message_copy_text(&field));
    }
    return whole;
}

char *hiprtc_log(const struct rocm *rocm, hiprtcProgram program)
{
    size_t size = 0;
    if (rocm->hiprtcGetProgramLogSize(program, &size) || size < 2 || size > MESSAGE_PAYLOAD_MAX)
        return NULL;
    char *log = calloc(1, size + 1);
    if (!log || rocm->hiprtcGetProgramLog(program, log)) {
        free(log);
        return NULL;
    }
    strip_temporary_paths(log);
    return log;
}

/* Whatever the compile's result was: some of hipRTC's statuses are odd, its log is not. */
static void add_log(const struct rocm *rocm, hiprtcProgram program, struct bytes *reply)
{
    char *log = hiprtc_log(rocm, program);
    if (log)
        message_add_text(reply, TAG_LOG, log);
    free(log);
}

static enum reply_status add_code(const struct rocm *rocm, hiprtcProgram program,
                                  struct bytes *reply, struct failure *failure)
{
    size_t size = 0;
    hiprtcResult result = rocm->hiprtcGetCodeSize(program, &size);
    if (result)
        return hiprtc_failed(rocm, failure, "hiprtcGetCodeSize", result);
    char *code = malloc(size + 1);
    if (!code)
        return fail(failure, REPLY_OUT_OF_MEMORY, "no memory for %zu bytes of code", size);
    enum reply_status status = REPLY_OK;
    result = rocm->hiprtcGetCode(program, code);
    if (result)
        status = hiprtc_failed(rocm, failure, "hiprtcGetCode", result);
    else
        status = describe_kernels(rocm, code, size, reply, failure);
    if (!status)
        message_add(reply, TAG_CODE, code, size);
    free(code);
    return status;
}

static uint64_t now_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static enum reply_status compile(const struct rocm *rocm, const struct arguments *arguments,
                                 struct bytes *reply, struct failure *failure)
{
    hiprtcProgram program = NULL;
    hiprtcResult result =
        rocm->hiprtcCreateProgram(&program, arguments->source, arguments->name, 0, NULL, NULL);
    if (result)
        return hiprtc_failed(rocm, failure, "hiprtcCreateProgram", result);
    result = rocm->hiprtcCompileProgram(program, arguments->option_count, arguments->options);
    add_log(rocm, program, reply);
    enum reply_status status = result ? hiprtc_failed(rocm, failure, "hiprtcCompileProgram", result)
                                      : add_code(rocm, program, reply, failure);
    rocm->hiprtcDestroyProgram(&program);
    return status;
}

enum reply_status serve_compile(struct rocm *rocm, const struct bytes *request, struct bytes *reply,
                                struct failure *failure)
{
    struct arguments arguments = {0};
    enum reply_status status = rocm_load_all(rocm, failure);
    if (!status && !read_arguments(request, &arguments))
        status = fail(failure, REPLY_BAD_REQUEST,
                      "a compile needs a source, a name and a target, none with a NUL inside");
    if (!status) {
        uint64_t start = now_microseconds();
        status = compile(rocm, &arguments, reply, failure);
        message_add_number(reply, TAG_MICROSECONDS, now_microseconds() - start);
    }
    free_arguments(&arguments);
    return status;
}
