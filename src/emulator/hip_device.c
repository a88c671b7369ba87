#include "emulator/hip_device.h"

#include "emulator/hip_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HIP's own version arithmetic: major * 10000000 + minor * 100000 + patch. */
enum { HIP_VERSION_EMULATED = 70200000 };

static const char device_name[] = "dsajit emulator of AMD Instinct MI350X";
static const char target_id[] = "gfx950:sramecc+:xnack-";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct device devices[DEVICES_MAX];
static const struct settings *settings; /* NULL: the devices couldn't be made */
static const char *problem = "";
static _Thread_local int current_ordinal;

static void make_devices(void)
{
    const struct settings *found = settings_get(&problem);
    if (!found)
        return;
    for (unsigned i = 0; i < found->devices; i++) {
        devices[i].ordinal = (int)i;
        devices[i].memory = device_memory_create(found->memory);
        devices[i].legacy = stream_create(&devices[i], hipStreamDefault);
        if (!devices[i].memory || !devices[i].legacy ||
            pthread_mutex_init(&devices[i].execution, NULL)) {
            problem = "out of memory";
            return;
        }
    }
    settings = found;
}

hipError_t device_count(const char *function, int *count)
{
    pthread_once(&once, make_devices);
    if (!settings)
        return hip_fail(hipErrorNotInitialized, "%s: %s", function, problem);
    if (!settings->devices)
        return hip_fail(hipErrorNoDevice, "%s: DSAJIT_EMULATOR_DEVICES is 0", function);
    *count = (int)settings->devices;
    return hipSuccess;
}

hipError_t device_find(const char *function, int ordinal, struct device **device)
{
    int count;
    hipError_t error = device_count(function, &count);
    if (error)
        return error;
    if (ordinal < 0 || ordinal >= count)
        return hip_fail(hipErrorInvalidDevice, "%s: device %d of %d", function, ordinal, count);
    *device = &devices[ordinal];
    return hipSuccess;
}

hipError_t device_current(const char *function, struct device **device)
{
    return device_find(function, current_ordinal, device);
}

const struct settings *device_settings(void)
{
    return settings;
}

hipError_t hipInit(unsigned int flags)
{
    int count;
    if (flags)
        return hip_fail(hipErrorInvalidValue, "hipInit: flags are 0x%x, not 0", flags);
    return device_count("hipInit", &count);
}

static hipError_t get_version(const char *function, int *version)
{
    if (!version)
        return hip_fail(hipErrorInvalidValue, "%s: version is null", function);
    *version = HIP_VERSION_EMULATED;
    return hipSuccess;
}

hipError_t hipDriverGetVersion(int *version)
{
    return get_version("hipDriverGetVersion", version);
}

hipError_t hipRuntimeGetVersion(int *version)
{
    return get_version("hipRuntimeGetVersion", version);
}

hipError_t hipGetDeviceCount(int *count)
{
    if (!count)
        return hip_fail(hipErrorInvalidValue, "hipGetDeviceCount: count is null");
    *count = 0;
    return device_count("hipGetDeviceCount", count);
}

hipError_t hipSetDevice(int ordinal)
{
    struct device *device;
    hipError_t error = device_find("hipSetDevice", ordinal, &device);
    if (!error)
        current_ordinal = ordinal;
    return error;
}

hipError_t hipGetDevice(int *ordinal)
{
    struct device *device;
    if (!ordinal)
        return hip_fail(hipErrorInvalidValue, "hipGetDevice: device is null");
    hipError_t error = device_current("hipGetDevice", &device);
    if (!error)
        *ordinal = device->ordinal;
    return error;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int ordinal)
{
    struct device *device;
    if (!properties)
        return hip_fail(hipErrorInvalidValue, "hipGetDeviceProperties: properties are null");
    hipError_t error = device_find("hipGetDeviceProperties", ordinal, &device);
    if (error)
        return error;
    *properties = (hipDeviceProp_tR0600){
        .totalGlobalMem = settings->memory,
        .sharedMemPerBlock = DEVICE_LDS_SIZE,
        .regsPerBlock = DEVICE_REGISTERS_PER_WORKGROUP,
        .warpSize = DEVICE_WAVEFRONT,
        .memPitch = INT32_MAX,
        .maxThreadsPerBlock = DEVICE_WORKGROUP_LIMIT,
        .maxThreadsDim = {DEVICE_WORKGROUP_LIMIT, DEVICE_WORKGROUP_LIMIT, DEVICE_WORKGROUP_LIMIT},
        .maxGridSize = {DEVICE_GRID_LIMIT_X, DEVICE_GRID_LIMIT_YZ, DEVICE_GRID_LIMIT_YZ},
        .clockRate = DEVICE_CLOCK_KHZ,
        .totalConstMem = INT32_MAX,
        .major = 9,
        .minor = 5,
        .multiProcessorCount = DEVICE_COMPUTE_UNITS,
        .pciBusID = ordinal,
        .l2CacheSize = DEVICE_L2_SIZE,
        .maxThreadsPerMultiProcessor = DEVICE_THREADS_PER_CU,
        .sharedMemPerMultiprocessor = DEVICE_LDS_SIZE,
        .maxSharedMemoryPerMultiProcessor = DEVICE_LDS_SIZE,
    };
    memcpy(properties->name, device_name, sizeof device_name);
    memcpy(properties->gcnArchName, target_id, sizeof target_id);
    return hipSuccess;
}

static const struct {
    hipDeviceAttribute_t attribute;
    int value;
} attributes[] = {
    {hipDeviceAttributeEccEnabled, 1},
    {hipDeviceAttributeClockRate, DEVICE_CLOCK_KHZ},
    {hipDeviceAttributeConcurrentKernels, 1},
    {hipDeviceAttributeL2CacheSize, DEVICE_L2_SIZE},
    {hipDeviceAttributeComputeCapabilityMajor, 9},
    {hipDeviceAttributeComputeCapabilityMinor, 5},
    {hipDeviceAttributeMaxBlockDimX, DEVICE_WORKGROUP_LIMIT},
    {hipDeviceAttributeMaxBlockDimY, DEVICE_WORKGROUP_LIMIT},
    {hipDeviceAttributeMaxBlockDimZ, DEVICE_WORKGROUP_LIMIT},
    {hipDeviceAttributeMaxGridDimX, DEVICE_GRID_LIMIT_X},
    {hipDeviceAttributeMaxGridDimY, DEVICE_GRID_LIMIT_YZ},
    {hipDeviceAttributeMaxGridDimZ, DEVICE_GRID_LIMIT_YZ},
    {hipDeviceAttributeMaxThreadsPerBlock, DEVICE_WORKGROUP_LIMIT},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, DEVICE_THREADS_PER_CU},
    {hipDeviceAttributeMultiprocessorCount, DEVICE_COMPUTE_UNITS},
    {hipDeviceAttributePciDeviceId, 0},
    {hipDeviceAttributePciDomainId, 0},
    {hipDeviceAttributeMaxSharedMemoryPerBlock, DEVICE_LDS_SIZE},
    {hipDeviceAttributeSharedMemPerMultiprocessor, DEVICE_LDS_SIZE},
    {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, DEVICE_LDS_SIZE},
    {hipDeviceAttributeWarpSize, DEVICE_WAVEFRONT},
    {hipDeviceAttributeNumberOfXccs, DEVICE_XCCS},
};

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int ordinal)
{
    struct device *device;
    if (!value)
        return hip_fail(hipErrorInvalidValue, "hipDeviceGetAttribute: value is null");
    hipError_t error = device_find("hipDeviceGetAttribute", ordinal, &device);
    if (error)
        return error;
    if (attribute == hipDeviceAttributePciBusId) {
        *value = ordinal;
        return hipSuccess;
    }
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (attributes[i].attribute != attribute)
            continue;
        *value = attributes[i].value;
        return hipSuccess;
    }
    return hip_fail(hipErrorInvalidValue, "hipDeviceGetAttribute: attribute %u isn't known",
                    attribute);
}
