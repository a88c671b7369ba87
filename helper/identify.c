/* Which libraries decide the code, by what is really loaded. */
#include "requests.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const deciding[] = {"libhiprtc", "libamd_comgr", "libLLVM", "libclang",
                                       "liblld"};

/* A loaded library's address; the ELF interfaces have them as numbers. */
static const void *at(ElfW(Addr) address)
{
    return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool decides_code(const char *path)
{
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof deciding / sizeof *deciding; i++) {
        if (!strncmp(name, deciding[i], strlen(deciding[i])))
            return true;
    }
    return false;
}

/* The library's own name, which doesn't depend on how its file was found. */
static const char *library_name(const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = at(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
    const char *strings = NULL;
    const ElfW(Dyn) *name = NULL;
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB)
            strings = at(dynamic->d_un.d_ptr); /* glibc has relocated it */
        else if (dynamic->d_tag == DT_SONAME)
            name = dynamic;
    }
    return strings && name ? strings + name->d_un.d_val : base_name(info->dlpi_name);
}

/* Appends the build id of a loaded note segment in hexadecimal; nothing when it holds none. */
static void append_build_id(const uint8_t *notes, size_t size, size_t alignment,
                            struct bytes *build_id)
{
    size_t offset = 0;
    ElfW(Nhdr) note;
    while (size - offset >= sizeof note) {
        memcpy(&note, notes + offset, sizeof note);
        offset += sizeof note;
        size_t name_size = (note.n_namesz + alignment - 1) / alignment * alignment;
        size_t value_size = (note.n_descsz + alignment - 1) / alignment * alignment;
        if (name_size > size - offset || note.n_descsz > size - offset - name_size)
            return;
        const uint8_t *name = notes + offset, *value = name + name_size;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            for (size_t i = 0; i < note.n_descsz; i++)
                bytes_append_format(build_id, "%02x", value[i]);
            return;
        }
        if (value_size > size - offset - name_size)
            return;
        offset += name_size + value_size;
    }
}

/* One loaded library, for dl_iterate_phdr. */
static int add_library(struct dl_phdr_info *info, size_t info_size, void *user)
{
    (void)info_size;
    struct bytes *reply = user;
    if (!decides_code(info->dlpi_name))
        return 0;
    struct bytes build_id = {0};
    for (size_t i = 0; i < info->dlpi_phnum && build_id.size == 0; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            append_build_id(at(info->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                            segment->p_align == 8 ? 8 : 4, &build_id);
    }
    reply->failed |= build_id.failed;
    message_add_text(reply, TAG_LIBRARY, library_name(info));
    message_add_text(reply, TAG_PATH, info->dlpi_name);
    message_add_text(reply, TAG_BUILD_ID, bytes_text(&build_id));
    bytes_free(&build_id);
    return 0;
}

/* The release in the name of hipRTC's file: hiprtcVersion's numbers are of its interface and mean
   nothing to people. */
static void append_release(const char *path, struct bytes *text)
{
    static const char suffix[] = ".so.";
    char *real = realpath(path, NULL);
    const char *found = real ? strstr(base_name(real), suffix) : NULL;
    bytes_append_text(text, found ? found + sizeof suffix - 1 : "of unknown release");
    free(real);
}

/* For people. LLVM says its version only where it is a shared library. */
static void add_version(const struct rocm *rocm, struct bytes *reply)
{
    size_t comgr_major = 0, comgr_minor = 0;
    struct bytes text = {0};
    rocm->amd_comgr_get_version(&comgr_major, &comgr_minor);
    bytes_append_text(&text, "hipRTC ");
    append_release(rocm->hiprtc_path, &text);
    bytes_append_format(&text, ", comgr %zu.%zu", comgr_major, comgr_minor);
    void (*llvm_version)(unsigned *major, unsigned *minor, unsigned *patch) = NULL;
    void *symbol = dlsym(rocm->comgr, "LLVMGetVersion");
    memcpy(&llvm_version, &symbol, sizeof symbol);
    if (llvm_version) {
        unsigned major = 0, minor = 0, patch = 0;
        llvm_version(&major, &minor, &patch);
        bytes_append_format(&text, ", LLVM %u.%u.%u", major, minor, patch);
    }
    message_add(reply, TAG_VERSION, text.data, text.size);
    reply->failed |= text.failed;
    bytes_free(&text);
}

/* Some builds of hipRTC load libhiprtc-builtins, and comgr its backend, only when they compile. */
static enum reply_status compile_nothing(const struct rocm *rocm, struct failure *failure)
{
    static const char *const options[] = {"--offload-arch=gfx950"};
    hiprtcProgram program = NULL;
    hiprtcResult result = rocm->hiprtcCreateProgram(&program, "\n", "empty.hip", 0, NULL, NULL);
    if (result)
        return hiprtc_failed(rocm, failure, "hiprtcCreateProgram", result);
    result = rocm->hiprtcCompileProgram(program, 1, options);
    char *log = result ? hiprtc_log(rocm, program) : NULL;
    rocm->hiprtcDestroyProgram(&program);
    if (result)
        fail(failure, REPLY_HIPRTC_MISSING,
             "%s can't compile for gfx950, too old a ROCm or a broken one: %s%s%.*s",
             rocm->hiprtc_path, rocm->hiprtcGetErrorString(result), log ? ": " : "",
             log ? (int)strcspn(log, "\n") : 0, log ? log : "");
    free(log);
    return result ? REPLY_HIPRTC_MISSING : REPLY_OK;
}

enum reply_status serve_identify(struct rocm *rocm, const struct bytes *request,
                                 struct bytes *reply, struct failure *failure)
{
    (void)request;
    enum reply_status status = rocm_load_all(rocm, failure);
    if (!status)
        status = compile_nothing(rocm, failure);
    if (status)
        return status;
    add_version(rocm, reply);
    dl_iterate_phdr(add_library, reply);
    return REPLY_OK;
}
