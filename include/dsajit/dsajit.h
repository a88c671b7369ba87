/* dsajit: DeepSeek Sparse Attention kernels for AMD gfx950, specialised, compiled, cached and
   launched at run time.

   Everything is thread-safe unless its comment says otherwise. Functions that can fail return a
   dsajit_status and, when `error` is not NULL, say why in words. Strings going in are UTF-8 and
   copied. */
#ifndef DSAJIT_DSAJIT_H
#define DSAJIT_DSAJIT_H

#include "dsajit/status.h"

#include <dlpack/dlpack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DSAJIT_VERSION_MAJOR 0
#define DSAJIT_VERSION_MINOR 1
#define DSAJIT_VERSION_PATCH 0

/* "0.1.0", of the library that is loaded. Static storage. */
DSAJIT_API const char *dsajit_version(void);

/* ---- Context ---- */

/* One HIP runtime (a real one or the emulator) with all its devices, the cache and the compiler. */
typedef struct dsajit_context dsajit_context;

typedef enum dsajit_device_kind {
    DSAJIT_DEVICE_AUTO = 0, /* the HIP runtime if it has a gfx950, else the emulator */
    DSAJIT_DEVICE_HIP = 1,
    DSAJIT_DEVICE_EMULATOR = 2,
    DSAJIT_DEVICE_NONE = 3 /* no device: only compiling, warming a cache, looking into it */
} dsajit_device_kind;

/* Start from DSAJIT_OPTIONS_DEFAULT. NULL and 0 mean the default; the environment variable that
 * sets a default stands beside it. */
typedef struct dsajit_options {
    size_t struct_size;          /* sizeof(dsajit_options), so that fields can be added */
    dsajit_device_kind device;   /* DSAJIT_DEVICE: auto, hip, emulator, none */
    const char *hip_library;     /* DSAJIT_HIP_LIBRARY: path of the HIP runtime to open */
    const char *cache_directory; /* DSAJIT_CACHE_DIR, then $XDG_CACHE_HOME/dsajit, then
                                    ~/.cache/dsajit; "" for none */
    /* DSAJIT_PREBUILT_PATH: NULL-terminated list of read-only cache directories */
    const char *const *prebuilt;
    const char *rocm_path;          /* DSAJIT_ROCM_PATH, then docs/toolchain.md's order */
    const char *compiler;           /* DSAJIT_COMPILER: path of the dsajit-compiler program */
    const char *template_directory; /* DSAJIT_TEMPLATE_DIR: kernel templates to use instead of the
                                       built-in ones */
    int compile_timeout_ms;         /* DSAJIT_COMPILE_TIMEOUT_MS; default 120000 */
    bool strict;             /* DSAJIT_STRICT=1: never compile; what is not in a cache directory is
                                refused with SEALED */
    dsajit_log_function log; /* NULL: warnings and errors are dropped */
    void *log_user;
} dsajit_options;

#define DSAJIT_OPTIONS_DEFAULT                                                                     \
    {                                                                                              \
        sizeof(dsajit_options), DSAJIT_DEVICE_AUTO, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                   \
    }

/* Opens the HIP runtime and the cache; starts no compiler. `options` may be NULL. The caller closes
 * *context. */
DSAJIT_API dsajit_status dsajit_open(const dsajit_options *options, dsajit_context **context,
                                     dsajit_error *error);

/* Unloads every kernel and frees the context; NULL is allowed. No other call may be running on it,
   and no launch of it may be unfinished on a device. */
DSAJIT_API void dsajit_close(dsajit_context *context);

/* ---- Device ---- */

typedef struct dsajit_device_info {
    dsajit_device_kind kind; /* HIP, EMULATOR or NONE */
    const char *library; /* path of the HIP runtime; NULL for NONE. Owned by the context, as are the
                            others */
    const char *name;    /* of device 0, "AMD Instinct MI350X" for instance */
    const char *target;  /* its full target id, "gfx950:sramecc+:xnack-" for instance */
    int device_count;
    int runtime_version; /* as hipRuntimeGetVersion gives it */
} dsajit_device_info;

DSAJIT_API dsajit_status dsajit_get_device_info(const dsajit_context *context,
                                                dsajit_device_info *info, dsajit_error *error);

/* The address of a function of the HIP runtime this context uses ("hipMalloc", …), so that a
   program runs on a GPU and on the emulator alike; NULL when the runtime has none of that name.
   Cast to the function's own type. */
DSAJIT_API void *dsajit_hip_symbol(const dsajit_context *context, const char *name);

/* ---- Variants ---- */

/* A variant is named by its canonical text, for instance
     sparse_mla/gfx950/heads=8,has_invalid=1,return_lse=0,index=i32,scale=pow2,math=bf16
   A selection is such a text with parts left out, each part standing for all its legal values: ""
   is everything, "sparse_mla", "sparse_mla/gfx950/heads=8" or, for every architecture,
   "sparse_mla//heads=8" are selections too. */

/* Called with each variant's canonical text; return false to stop. */
typedef bool (*dsajit_variant_function)(void *user, const char *variant);

/* Visits every variant that `selection` (NULL: everything) covers, in table order.
   INVALID_ARGUMENT names a family, field or value that does not exist, and lists those that do. */
DSAJIT_API dsajit_status dsajit_visit_variants(const char *selection,
                                               dsajit_variant_function function, void *user,
                                               dsajit_error *error);

/* Text returned by the library; free with dsajit_text_free. */
typedef struct dsajit_text {
    char *data; /* NUL-terminated */
    size_t size;
} dsajit_text;
DSAJIT_API void dsajit_text_free(dsajit_text *text);

/* The specialised HIP source of a variant: one self-contained translation unit, the same bytes for
 * the same variant. */
DSAJIT_API dsajit_status dsajit_get_source(dsajit_context *context, const char *variant,
                                           dsajit_text *source, dsajit_error *error);

/* The canonical text of the variant's cache key. Needs a toolchain for its last lines; without one
 * they are absent. */
DSAJIT_API dsajit_status dsajit_get_key(dsajit_context *context, const char *variant,
                                        dsajit_text *key, dsajit_error *error);

/* The disassembly of a variant's code object (compiled if it is not cached). */
DSAJIT_API dsajit_status dsajit_get_isa(dsajit_context *context, const char *variant,
                                        dsajit_text *isa, dsajit_error *error);

/* Where a kernel came from. */
typedef enum dsajit_origin {
    DSAJIT_ORIGIN_RESIDENT = 0, /* already loaded in this context */
    DSAJIT_ORIGIN_CACHE = 1,    /* the writable cache directory */
    DSAJIT_ORIGIN_PREBUILT = 2, /* a read-only layer */
    DSAJIT_ORIGIN_COMPILED = 3  /* compiled by this call */
} dsajit_origin;

typedef struct dsajit_kernel_info {
    dsajit_origin origin; /* of this call */
    double compile_ms;    /* what the compile took, now or when the entry was made; helper start
                             excluded */
    uint32_t vgprs;       /* of the unified file, accumulation registers included */
    uint32_t agprs;       /* of these, accumulation registers */
    uint32_t sgprs;
    uint32_t lds_bytes;     /* static LDS of a workgroup */
    uint32_t scratch_bytes; /* per lane */
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t code_bytes; /* size of the code object */
} dsajit_kernel_info;

/* Makes sure a variant's code object exists (compiles and caches it if not) and tells about it.
 * Loads nothing on a device. */
DSAJIT_API dsajit_status dsajit_prepare(dsajit_context *context, const char *variant,
                                        dsajit_kernel_info *info, dsajit_error *error);

/* ---- Sparse MLA ---- */

/* How the cache records' per-128 scales are read. */
typedef enum dsajit_scale_format {
    DSAJIT_SCALE_POW2 = 0, /* powers of two, as vLLM's and FlashMLA's writers make them: exact */
    DSAJIT_SCALE_ANY =
        1 /* any positive f32, as older writers made: multiplied in f32, rounded to bf16 */
} dsajit_scale_format;

typedef enum dsajit_dot_precision { DSAJIT_DOT_BF16 = 0, DSAJIT_DOT_FP8 = 1 } dsajit_dot_precision;

enum {
    DSAJIT_KV_LORA_RANK = 512, /* latent width, and the width of V and of an output row */
    DSAJIT_QK_ROPE_HEAD_DIM = 64,
    DSAJIT_RECORD_BYTES = 656, /* 512 e4m3 | 4 f32 scales, one per 128 elements | 64 bf16 rope */
    DSAJIT_HEADS_MAX = 16
};

/* The arguments of sparse MLA forward over an fp8_ds_mla cache. Of a token t and a head h, with j
   over kv_indices[kv_indptr[t] … kv_indptr[t + 1] - 1] and K[j] record j's latent and rope values:

       x[j]   = sum over d of q[t,h,d] * K[j,d]
       lse    = ln of the sum over j of exp(softmax_scale * x[j])
       out[d] = sum over j of exp(softmax_scale * x[j] - lse) * latent[j,d]

   A row without an unmasked key gives out = 0 and lse = -inf.

   Start from a zeroed struct with struct_size set. All tensors are on one ROCm device (kDLROCM), on
   the emulator too. Strides are in elements; NULL strides mean row-major. */
typedef struct dsajit_sparse_mla_arguments {
    size_t struct_size; /* sizeof(dsajit_sparse_mla_arguments) */
    const DLTensor
        *q; /* [T, H, 576] bf16, 1 <= H <= 16, last stride 1, others even, 4-byte aligned */
    const DLTensor *kv; /* [N,656], [N,1,656], [N,1,1,656] or an unpadded [blocks,block,656] of a
                           1-byte type; 16-byte aligned */
    const DLTensor *kv_indptr; /* [T + 1] i32 or i64, any stride >= 0 */
    const DLTensor
        *kv_indices;     /* [nnz] i32 or i64 slot ids (0 … 2^31-1), nnz < 2^29, any stride >= 0 */
    const DLTensor *out; /* [T, H, >= 512] bf16, last stride 1, others even, 4-byte aligned: first
                            512 columns written */
    const DLTensor *lse; /* [T, H] f32, contiguous; NULL: not wanted. Natural logarithm */
    double softmax_scale; /* finite; multiplied by log2(e) and rounded to f32 once */
    bool has_invalid;     /* entries < 0 are masked, anywhere; without it each entry must be a valid
                             slot */
    dsajit_scale_format scale;

    /* The rest of sparse_mla_fwd's arguments, so that a dispatcher can pass what it was given. Not
     * served: must stay zero. */
    int kv_lora_rank;     /* 0 or 512 */
    int qk_rope_head_dim; /* 0 or 64 */
    int kv_splits;
    bool skip_reduce;
    dsajit_dot_precision dot_precision; /* DSAJIT_DOT_BF16 */
    const DLTensor *kv_scale, *q_scale, *attn_sink;
    const DLTensor *extra_kv, *extra_indptr, *extra_indices, *extra_kv_scale;
    const DLTensor *inv_rope_positions, *inv_rope_cos_sin_cache, *out_mxfp8;
} dsajit_sparse_mla_arguments;

/* DSAJIT_OK when dsajit_sparse_mla_forward can serve this call; otherwise UNSUPPORTED or
   INVALID_ARGUMENT and the reason: which argument, what it was, what is served. Reads host metadata
   only: no HIP call, safe under capture. */
DSAJIT_API dsajit_status dsajit_sparse_mla_supported(const dsajit_context *context,
                                                     const dsajit_sparse_mla_arguments *arguments,
                                                     dsajit_error *error);

/* The canonical text of the variant such a call uses. */
DSAJIT_API dsajit_status dsajit_sparse_mla_variant(const dsajit_context *context,
                                                   const dsajit_sparse_mla_arguments *arguments,
                                                   dsajit_text *variant, dsajit_error *error);

/* Enqueues the attention on `stream` (a hipStream_t of the tensors' device, which must be the
   calling thread's current device; NULL is the default stream) and returns without waiting. The
   first call of a variant on a device compiles or loads it; on a capturing stream that is refused
   with NOT_WARM instead. A call of a resident variant makes one HIP call, takes no lock and
   allocates nothing. The tensors must stay alive until the work is done. */
DSAJIT_API dsajit_status dsajit_sparse_mla_forward(dsajit_context *context,
                                                   const dsajit_sparse_mla_arguments *arguments,
                                                   void *stream, dsajit_error *error);

#ifdef __cplusplus
}
#endif
#endif
