/* hipRTC and comgr, loaded at run time; no ROCm header is needed to build. */
#ifndef HELPER_ROCM_H
#define HELPER_ROCM_H

#include "compiler/protocol.h"

/* The ABI, under ROCm's names: enumerations are ints, handles a struct passed by value. */
typedef int hiprtcResult;
typedef struct hiprtc_program *hiprtcProgram;

enum {
    HIPRTC_ERROR_OUT_OF_MEMORY = 1,
    HIPRTC_ERROR_INVALID_INPUT = 3,
    HIPRTC_ERROR_INVALID_OPTION = 5,
    HIPRTC_ERROR_COMPILATION = 6,
    HIPRTC_ERROR_LINKING = 100
};

typedef int amd_comgr_status_t;
typedef int amd_comgr_data_kind_t;

enum { AMD_COMGR_DATA_KIND_EXECUTABLE = 8 };

typedef struct amd_comgr_data {
    uint64_t handle;
} amd_comgr_data_t;

typedef struct amd_comgr_metadata_node {
    uint64_t handle;
} amd_comgr_metadata_node_t;

typedef struct amd_comgr_disassembly_info {
    uint64_t handle;
} amd_comgr_disassembly_info_t;

struct rocm {
    const char *comgr_path, *hiprtc_path;
    void *comgr, *hiprtc; /* NULL until loaded */
#define HIPRTC_FUNCTION(result, name, parameters) result(*name) parameters;
#define COMGR_FUNCTION(result, name, parameters)  result(*name) parameters;
#include "rocm_functions.def"
};

/* What a request failed of. */
struct failure {
    char text[512];
};
enum reply_status fail(struct failure *failure, enum reply_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Load what is not loaded yet. hipRTC 7.2 crashes in hiprtcCreateProgram when it finds no comgr,
   so comgr is always first. */
enum reply_status rocm_load_comgr(struct rocm *rocm, struct failure *failure);
enum reply_status rocm_load_all(struct rocm *rocm, struct failure *failure);

/* fail() for a comgr call that returned `result`. */
enum reply_status comgr_failed(const struct rocm *rocm, struct failure *failure,
                               enum reply_status status, const char *call,
                               amd_comgr_status_t result);

/* As comgr_failed, with the status that fits hipRTC's. */
enum reply_status hiprtc_failed(const struct rocm *rocm, struct failure *failure, const char *call,
                                hiprtcResult result);

#endif
