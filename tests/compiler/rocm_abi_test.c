/* Compares the helper's declarations of hipRTC and comgr with ROCm's own headers, at compile time.
   Built only where those are found; it never meets helper/rocm.h, only the list it is made of. */
#include <amd_comgr/amd_comgr.h>
#include <hip/hiprtc.h>
#include <stddef.h>
#include <stdint.h>

#define SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)

#define HIPRTC_FUNCTION(result, name, parameters)                                                  \
    _Static_assert(SAME_TYPE(__typeof__(name), result parameters), #name);
#define COMGR_FUNCTION(result, name, parameters)                                                   \
    _Static_assert(SAME_TYPE(__typeof__(name), result parameters), #name);
#include "rocm_functions.def"

/* What helper/rocm.h says of the list's types. */
#define SAME_SIZE_AS_INT(type) _Static_assert(sizeof(type) == sizeof(int), #type)
SAME_SIZE_AS_INT(hiprtcResult);
SAME_SIZE_AS_INT(amd_comgr_status_t);
SAME_SIZE_AS_INT(amd_comgr_data_kind_t);

_Static_assert(sizeof(hiprtcProgram) == sizeof(void *), "hiprtcProgram");

#define ONE_HANDLE(type)                                                                           \
    _Static_assert(sizeof(type) == 8 && SAME_TYPE(__typeof__(((type *)0)->handle), uint64_t), #type)
ONE_HANDLE(amd_comgr_data_t);
ONE_HANDLE(amd_comgr_metadata_node_t);
ONE_HANDLE(amd_comgr_disassembly_info_t);

_Static_assert(HIPRTC_SUCCESS == 0 && AMD_COMGR_STATUS_SUCCESS == 0, "success");
_Static_assert(HIPRTC_ERROR_OUT_OF_MEMORY == 1, "HIPRTC_ERROR_OUT_OF_MEMORY");
_Static_assert(HIPRTC_ERROR_INVALID_INPUT == 3, "HIPRTC_ERROR_INVALID_INPUT");
_Static_assert(HIPRTC_ERROR_INVALID_OPTION == 5, "HIPRTC_ERROR_INVALID_OPTION");
_Static_assert(HIPRTC_ERROR_COMPILATION == 6, "HIPRTC_ERROR_COMPILATION");
_Static_assert(HIPRTC_ERROR_LINKING == 100, "HIPRTC_ERROR_LINKING");
_Static_assert(AMD_COMGR_DATA_KIND_EXECUTABLE == 8, "AMD_COMGR_DATA_KIND_EXECUTABLE");

int main(void)
{
    return 0;
}
