/* Compares our declarations of HIP's ABI with ROCm's own header, at compile time. Built only where
   that header is found; it never meets src/base/hip_abi.h, only the lists it is made of. */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <stddef.h>

#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)

#define HIP_ERROR(name, value, text) _Static_assert(name == (value), #name);
#define HIP_ENUMERATOR(type, name, value)                                                          \
    _Static_assert(name == (value) && sizeof(type) == sizeof(unsigned int) && (type)-1 > 0, #name);
#define HIP_FLAG(name, value) _Static_assert(name == (value), #name);
#define HIP_FIELD(type, name, offset, size)                                                        \
    _Static_assert(offsetof(type, name) == (offset) && sizeof(((type *)0)->name) == (size),        \
                   #type "." #name);
#define HIP_STRUCT(type, size) _Static_assert(sizeof(type) == (size), #type);
#include "base/hip_constants.def"

#define HIP_FUNCTION(result, name, parameters)                                                     \
    _Static_assert(SAME_TYPE(__typeof__(name), result parameters), #name);
#include "base/hip_functions.def"

/* The handles, and the rest that no list holds. */
_Static_assert(SAME_TYPE(hipDevice_t, int), "hipDevice_t");
_Static_assert(SAME_TYPE(hipDeviceptr_t, void *), "hipDeviceptr_t");
_Static_assert(SAME_TYPE(hipStream_t, struct ihipStream_t *), "hipStream_t");
_Static_assert(SAME_TYPE(hipEvent_t, struct ihipEvent_t *), "hipEvent_t");
_Static_assert(SAME_TYPE(hipModule_t, struct ihipModule_t *), "hipModule_t");
_Static_assert(SAME_TYPE(hipFunction_t, struct ihipModuleSymbol_t *), "hipFunction_t");
_Static_assert(SAME_TYPE(hipGraph_t, struct ihipGraph *), "hipGraph_t");
_Static_assert(SAME_TYPE(hipGraphExec_t, struct hipGraphExec *), "hipGraphExec_t");
_Static_assert(SAME_TYPE(hipGraphNode_t, struct hipGraphNode *), "hipGraphNode_t");

/* What is a pointer isn't a constant expression. */
int main(void)
{
    return HIP_LAUNCH_PARAM_BUFFER_POINTER == (void *)1 &&
                   HIP_LAUNCH_PARAM_BUFFER_SIZE == (void *)2 && HIP_LAUNCH_PARAM_END == (void *)3 &&
                   hipStreamLegacy == (hipStream_t)1 && hipStreamPerThread == (hipStream_t)2
               ? 0
               : 1;
}
