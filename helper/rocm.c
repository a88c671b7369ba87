#include "rocm.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum reply_status fail(struct failure *failure, enum reply_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return status;
}

/* A symbol into its member of struct rocm; both are pointers of one size, POSIX says. */
struct function {
    const char *name;
    size_t offset;
};

static const struct function comgr_functions[] = {
#define COMGR_FUNCTION(result, name, parameters) {#name, offsetof(struct rocm, name)},
#include "rocm_functions.def"
};

static const struct function hiprtc_functions[] = {
#define HIPRTC_FUNCTION(result, name, parameters) {#name, offsetof(struct rocm, name)},
#include "rocm_functions.def"
};

static enum reply_status load(struct rocm *rocm, void **library, const char *path,
                              const struct function *functions, size_t count,
                              enum reply_status missing, struct failure *failure)
{
    if (*library)
        return REPLY_OK;
    void *loaded = dlopen(path, RTLD_NOW);
    if (!loaded)
        return fail(failure, missing, "%s can't be loaded: %s",
                    missing == REPLY_COMGR_MISSING ? "comgr" : "hipRTC", dlerror());
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(loaded, functions[i].name);
        if (!symbol)
            return fail(failure, missing, "%s lacks %s: too old a ROCm", path, functions[i].name);
        memcpy((char *)rocm + functions[i].offset, &symbol, sizeof symbol);
    }
    *library = loaded;
    return REPLY_OK;
}

enum reply_status rocm_load_comgr(struct rocm *rocm, struct failure *failure)
{
    return load(rocm, &rocm->comgr, rocm->comgr_path, comgr_functions,
                sizeof comgr_functions / sizeof *comgr_functions, REPLY_COMGR_MISSING, failure);
}

enum reply_status rocm_load_all(struct rocm *rocm, struct failure *failure)
{
    enum reply_status status = rocm_load_comgr(rocm, failure);
    if (status)
        return status;
    return load(rocm, &rocm->hiprtc, rocm->hiprtc_path, hiprtc_functions,
                sizeof hiprtc_functions / sizeof *hiprtc_functions, REPLY_HIPRTC_MISSING, failure);
}

enum reply_status comgr_failed(const struct rocm *rocm, struct failure *failure,
                               enum reply_status status, const char *call,
                               amd_comgr_status_t result)
{
    const char *text = NULL;
    if (rocm->amd_comgr_status_string(result, &text) || !text)
        text = "unknown status";
    return fail(failure, status, "comgr: %s: %s (%d)", call, text, result);
}

/* What the caller's source and options can bring about, and what they can't. */
static enum reply_status translate_hiprtc(hiprtcResult result)
{
    switch (result) {
    case HIPRTC_ERROR_OUT_OF_MEMORY:
        return REPLY_OUT_OF_MEMORY;
    case HIPRTC_ERROR_INVALID_INPUT:
    case HIPRTC_ERROR_INVALID_OPTION:
    case HIPRTC_ERROR_COMPILATION:
    case HIPRTC_ERROR_LINKING:
        return REPLY_COMPILE_ERROR;
    default:
        return REPLY_FAILED;
    }
}

enum reply_status hiprtc_failed(const struct rocm *rocm, struct failure *failure, const char *call,
                                hiprtcResult result)
{
    return fail(failure, translate_hiprtc(result), "hipRTC: %s: %s", call,
                rocm->hiprtcGetErrorString(result));
}
