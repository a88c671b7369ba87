#include "compiler/locate.h"

#include "build_config.h"
#include "compiler/library_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char helper_name[] = "dsajit-compiler";

/* Newest first. The unversioned names come with development packages only. */
static const char *const hiprtc_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so"};
static const char *const comgr_names[] = {"libamd_comgr.so.3", "libamd_comgr.so.2",
                                          "libamd_comgr.so"};
enum { NAME_COUNT = 3 };

/* Where a prefix keeps libraries: AMD's packages, Fedora's, Debian's, and an unpacked Debian. */
static const char *const library_folders[] = {"lib", "lib64", "lib/x86_64-linux-gnu",
                                              "usr/lib/x86_64-linux-gnu"};

static const char own_loader[] = "usr/lib64/ld-linux-x86-64.so.2";

static dsajit_status no_memory(dsajit_error *error)
{
    return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory to look for the compiler");
}

static bool is_set(const char *text)
{
    return text && *text;
}

/* FOLDER/NAME if there is a readable file of that name; NULL otherwise. */
static char *existing(const char *folder, const char *name, int access_mode)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return NULL;
    if (access(path, access_mode)) {
        free(path);
        return NULL;
    }
    return path;
}

static char *first_existing(const char *folder, const char *const names[NAME_COUNT])
{
    char *path = NULL;
    for (size_t i = 0; !path && i < NAME_COUNT; i++)
        path = existing(folder, names[i], R_OK);
    return path;
}

/* ---- The helper ---- */

/* The folder of libdsajit.so or of the program this code is linked into; NULL when unknown. */
static char *own_folder(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)helper_name, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    /* The program itself has no name there, and dli_fname is what argv[0] happens to be. */
    char *path = realpath(*map->l_name ? map->l_name : "/proc/self/exe", NULL);
    if (path)
        *strrchr(path, '/') = '\0';
    return path;
}

static dsajit_status named_helper(const char *path, const char *origin, struct location *location,
                                  dsajit_error *error)
{
    if (access(path, X_OK))
        return error_set_errno(error, DSAJIT_ERROR_TOOLCHAIN_MISSING, errno,
                               "no compiler helper at %s (%s)", path, origin);
    location->helper = realpath(path, NULL);
    return location->helper ? DSAJIT_OK : no_memory(error);
}

static dsajit_status find_helper(const char *option, const char *folder, struct location *location,
                                 dsajit_error *error)
{
    if (is_set(option))
        return named_helper(option, "named by the caller", location, error);
    const char *variable = secure_getenv("DSAJIT_COMPILER");
    if (is_set(variable))
        return named_helper(variable, "DSAJIT_COMPILER", location, error);
    if (folder)
        location->helper = existing(folder, helper_name, X_OK);
    if (folder && !location->helper) {
        char *installed = NULL;
        if (asprintf(&installed, "%s/%s", folder, DSAJIT_BUILD_HELPER_DIR) < 0)
            return no_memory(error);
        location->helper = existing(installed, helper_name, X_OK);
        free(installed);
    }
    if (!location->helper)
        return error_set(error, DSAJIT_ERROR_TOOLCHAIN_MISSING,
                         "no compiler helper %s in %s and in %s from there; DSAJIT_COMPILER can "
                         "name it",
                         helper_name, folder ? folder : "an unknown folder",
                         DSAJIT_BUILD_HELPER_DIR);
    return DSAJIT_OK;
}

/* ---- ROCm ---- */

/* Takes the libraries of one folder; true when hipRTC is there, and comgr too if `both`. */
static bool take_folder(const char *folder, bool both, struct location *location)
{
    char *hiprtc = first_existing(folder, hiprtc_names);
    char *comgr = hiprtc ? first_existing(folder, comgr_names) : NULL;
    char *library_path = hiprtc ? strdup(folder) : NULL;
    if (!library_path || (both && !comgr)) {
        free(hiprtc);
        free(comgr);
        free(library_path);
        return false;
    }
    location->hiprtc = hiprtc;
    location->comgr = comgr;
    location->library_path = library_path;
    return true;
}

/* A prefix with a loader of its own is a system of its own: only its own loader fits its libc. */
static bool take_prefix(const char *prefix, const char *origin, bool both,
                        struct location *location)
{
    bool taken = false;
    for (size_t i = 0; !taken && i < sizeof library_folders / sizeof *library_folders; i++) {
        char *folder = existing(prefix, library_folders[i], X_OK);
        taken = folder && take_folder(folder, both, location);
        free(folder);
    }
    if (taken) {
        location->prefix = strdup(prefix);
        location->origin = origin;
        location->loader = existing(prefix, own_loader, X_OK);
    }
    return taken && location->prefix;
}

static bool take_system_folder(void *user, const char *folder)
{
    struct location *location = user;
    if (!take_folder(folder, true, location))
        return false;
    location->prefix = strdup(folder);
    location->origin = "system library path";
    return location->prefix;
}

/* A prefix that somebody named is used or refused, never passed over in silence. */
static dsajit_status take_named_prefix(const char *prefix, const char *origin,
                                       struct location *location, dsajit_error *error)
{
    char *absolute = realpath(prefix, NULL);
    dsajit_status status = DSAJIT_OK;
    if (!absolute)
        status = error_set_errno(error, DSAJIT_ERROR_TOOLCHAIN_MISSING, errno, "%s (%s)", prefix,
                                 origin);
    else if (!take_prefix(absolute, origin, false, location))
        status = error_set(error, DSAJIT_ERROR_TOOLCHAIN_MISSING,
                           "%s (%s) has no libhiprtc.so of version 7 or 6 in lib, lib64, "
                           "lib/x86_64-linux-gnu or usr/lib/x86_64-linux-gnu",
                           prefix, origin);
    free(absolute);
    return status;
}

/* The private copy that bootstrap.sh makes; NULL when memory ran out. */
static char *private_prefix(const char *folder)
{
    const char *variable = secure_getenv("DSAJIT_ROCM_PREFIX");
    if (is_set(variable))
        return strdup(variable);
    if (*DSAJIT_BUILD_ROCM_PREFIX)
        return strdup(DSAJIT_BUILD_ROCM_PREFIX);
    char *path = NULL;
    return asprintf(&path, "%s/../.rocm", folder ? folder : ".") < 0 ? NULL : path;
}

static dsajit_status find_rocm(const char *option, const char *folder, struct location *location,
                               dsajit_error *error)
{
    if (is_set(option))
        return take_named_prefix(option, "named by the caller", location, error);
    static const char *const variables[] = {"DSAJIT_ROCM_PATH", "ROCM_PATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *named = secure_getenv(variables[i]);
        if (is_set(named))
            return take_named_prefix(named, variables[i], location, error);
    }
    if (take_prefix("/opt/rocm", "/opt/rocm", true, location) ||
        library_path_search("libhiprtc.so", take_system_folder, location))
        return DSAJIT_OK;

    char *named = private_prefix(folder);
    if (!named)
        return no_memory(error);
    char *absolute = realpath(named, NULL);
    bool taken = absolute && take_prefix(absolute, "private copy", true, location);
    dsajit_status status = DSAJIT_OK;
    if (!taken)
        status = error_set(error, DSAJIT_ERROR_TOOLCHAIN_MISSING,
                           "no hipRTC and comgr in /opt/rocm, in the system's library path or in "
                           "the private copy %s; DSAJIT_ROCM_PATH can name a ROCm, and "
                           "./bootstrap.sh build makes a private copy",
                           named);
    free(absolute);
    free(named);
    return status;
}

/* The system's loader looks into the folders that the user gave it as well. */
static dsajit_status extend_library_path(struct location *location, dsajit_error *error)
{
    const char *inherited = secure_getenv("LD_LIBRARY_PATH");
    if (location->loader || !is_set(inherited))
        return DSAJIT_OK;
    char *longer = NULL;
    if (asprintf(&longer, "%s:%s", location->library_path, inherited) < 0)
        return no_memory(error);
    free(location->library_path);
    location->library_path = longer;
    return DSAJIT_OK;
}

dsajit_status locate_toolchain(const struct compiler_options *options, struct location *location,
                               dsajit_error *error)
{
    *location = (struct location){0};
    char *folder = own_folder();
    dsajit_status status = find_helper(options->helper_path, folder, location, error);
    if (!status)
        status = find_rocm(options->rocm_path, folder, location, error);
    if (!status)
        status = extend_library_path(location, error);
    if (!status && !location->comgr)
        status = error_set(error, DSAJIT_ERROR_TOOLCHAIN_MISSING,
                           "%s (%s) has hipRTC but no libamd_comgr.so of version 3 or 2 beside it",
                           location->hiprtc, location->origin);
    free(folder);
    if (status)
        location_free(location);
    return status;
}

void location_free(struct location *location)
{
    free(location->helper);
    free(location->prefix);
    free(location->loader);
    free(location->library_path);
    free(location->comgr);
    free(location->hiprtc);
    *location = (struct location){0};
}
