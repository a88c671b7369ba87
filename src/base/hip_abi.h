/* The part of HIP's C ABI that this project speaks, in declarations of its own: the runtime calls a
   HIP library through it and the emulator is one. HIP's own names, so never include ROCm's header
   beside this one. tests/base/hip_abi_test.c compares every value, offset and prototype with a real
   hip_runtime_api.h where there is one. */
#ifndef BASE_HIP_ABI_H
#define BASE_HIP_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- Enumerations and flags, from hip_constants.def ---- */

typedef enum hipError_t {
#define HIP_ERROR(name, value, text) name = (value),
#include "base/hip_constants.def"
} hipError_t;

/* One enumeration type each, so that a parameter's type says what it takes; as in C they all are
   an unsigned int across the ABI. */
typedef unsigned int hipMemcpyKind;
typedef unsigned int hipMemoryType;
typedef unsigned int hipDeviceAttribute_t;
typedef unsigned int hipFunction_attribute;
typedef unsigned int hipStreamCaptureMode;
typedef unsigned int hipStreamCaptureStatus;

enum {
#define HIP_ENUMERATOR(type, name, value) name = (value),
#define HIP_FLAG(name, value)             name = (value),
#include "base/hip_constants.def"
};

/* Keys of hipModuleLaunchKernel's `extra` array. */
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x02)
#define HIP_LAUNCH_PARAM_END            ((void *)0x03)

/* Streams that no one creates; a null stream is the legacy one too. */
#define hipStreamLegacy    ((hipStream_t)1)
#define hipStreamPerThread ((hipStream_t)2)

/* ---- Handles ---- */

typedef int hipDevice_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipModule_t *hipModule_t;
typedef struct ihipModuleSymbol_t *hipFunction_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;

/* ---- Structs ---- */

/* Members that nobody here reads are gaps; HIP's own layout has names for them. */
typedef struct hipDeviceProp_tR0600 {
    char name[256];
    unsigned char gap0[32];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate; /* kHz */
    size_t totalConstMem;
    int major, minor;
    unsigned char gap1[20];
    int multiProcessorCount;
    unsigned char gap2[192];
    int pciBusID, pciDeviceID, pciDomainID;
    unsigned char gap3[20];
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    unsigned char gap4[12];
    size_t sharedMemPerMultiprocessor;
    unsigned char gap5[512];
    char gcnArchName[256]; /* the target id: "gfx950:sramecc+:xnack-" */
    size_t maxSharedMemoryPerMultiProcessor;
    unsigned char gap6[48];
} hipDeviceProp_tR0600;

typedef struct hipPointerAttribute_t {
    hipMemoryType type;
    int device;
    void *devicePointer;
    void *hostPointer;
    int isManaged;
    unsigned allocationFlags;
} hipPointerAttribute_t;

#define HIP_FIELD(type, name, offset, size)                                                        \
    _Static_assert(offsetof(type, name) == (offset) && sizeof(((type *)0)->name) == (size),        \
                   #type "." #name);
#define HIP_STRUCT(type, size) _Static_assert(sizeof(type) == (size), #type);
#include "base/hip_constants.def"

#endif
