#include "fake_toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void fake_toolchain_make(const char *name, struct fake_toolchain *toolchain)
{
    fresh_folder(name, toolchain->folder);
    snprintf(toolchain->helper, sizeof toolchain->helper, "%s/dsajit-compiler", toolchain->folder);
    snprintf(toolchain->rocm, sizeof toolchain->rocm, "%s/rocm", toolchain->folder);
    shell("cp '%s' '%s' && mkdir -p '%s/lib' && touch '%s/lib/libhiprtc.so.7' "
          "'%s/lib/libamd_comgr.so.3'",
          FAKE_HELPER, toolchain->helper, toolchain->rocm, toolchain->rocm, toolchain->rocm);
    /* A fake compile needs no place among the user's real ones. */
    setenv("XDG_RUNTIME_DIR", toolchain->folder, 1);
}

int fake_toolchain_compiles(const struct fake_toolchain *toolchain)
{
    char path[2 * PATH_SIZE];
    struct stat file;
    snprintf(path, sizeof path, "%s.compiles", toolchain->helper);
    return stat(path, &file) ? 0 : (int)file.st_size;
}

dsajit_context *fake_toolchain_open(const struct fake_toolchain *toolchain, const char *cache,
                                    struct log_lines *lines)
{
    static const char *const none[] = {NULL};
    dsajit_options options = DSAJIT_OPTIONS_DEFAULT;
    const struct logger logger = counting_logger(lines);
    options.device = DSAJIT_DEVICE_NONE;
    options.cache_directory = cache;
    options.prebuilt = none;
    options.rocm_path = toolchain->rocm;
    options.compiler = toolchain->helper;
    options.log = logger.function;
    options.log_user = logger.user;
    dsajit_context *context;
    dsajit_error error;
    if (dsajit_open(&options, &context, &error))
        fail_msg("%s", error.message);
    return context;
}

void fake_toolchain_variant(int index, char text[128])
{
    snprintf(
        text, 128,
        "sparse_mla/gfx950/heads=%d,has_invalid=%d,return_lse=%d,index=i32,scale=pow2,math=bf16",
        index % 12 + 1, index / 12 & 1, index / 24 & 1);
}
