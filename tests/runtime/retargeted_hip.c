/* The emulator under another target id, that of DSAJIT_TEST_TARGET. All of HIP but one function is
   found in the emulator, which this library is linked with. */
#include "base/hip_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device);

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device)
{
    hipError_t (*get)(hipDeviceProp_tR0600 *, int);
    void *emulator = dlopen(getenv("DSAJIT_EMULATOR"), RTLD_NOW | RTLD_NOLOAD);
    void *symbol = dlsym(emulator, "hipGetDevicePropertiesR0600");
    memcpy(&get, &symbol, sizeof get);
    hipError_t result = get(properties, device);
    const char *target = getenv("DSAJIT_TEST_TARGET");
    memset(properties->gcnArchName, 0, sizeof properties->gcnArchName);
    memcpy(properties->gcnArchName, target, strlen(target));
    return result;
}
