#include "emulator/hip_module.h"

#include "emulator/emulator.h"
#include "emulator/hip_capture.h"
#include "emulator/inspector.h"
#include "emulator/program.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t inspector_lock = PTHREAD_MUTEX_INITIALIZER;
static struct inspector *inspector; /* made at first use, or by dsajit_emulator_configure */

dsajit_status dsajit_emulator_configure(const struct dsajit_emulator_options *options,
                                        dsajit_error *error)
{
    if (!options || options->struct_size != sizeof *options)
        return error_set(error, DSAJIT_ERROR_INVALID_ARGUMENT,
                         "dsajit_emulator_configure: options of an unknown size");
    const struct inspector_options wanted = {
        .cache_directory = options->cache_directory,
        .compiler = options->compiler,
        .rocm_path = options->rocm_path,
        .log = {options->log, options->log_user},
        .prebuilt = options->prebuilt,
    };
    struct inspector *made;
    dsajit_status status = inspector_create(&wanted, &made, error);
    if (status)
        return status;
    pthread_mutex_lock(&inspector_lock);
    struct inspector *old = inspector;
    inspector = made;
    pthread_mutex_unlock(&inspector_lock);
    inspector_destroy(old);
    return DSAJIT_OK;
}

/* Holding the lock for the whole inspection keeps an inspector in use from being replaced, and
   parallel loads of one code object from starting a helper each. */
static dsajit_status inspect(const struct code_object *object, struct inspection *inspection,
                             dsajit_error *error)
{
    dsajit_status status = DSAJIT_OK;
    pthread_mutex_lock(&inspector_lock);
    if (!inspector)
        status = inspector_create(&(struct inspector_options){0}, &inspector, error);
    if (!status)
        status = inspector_inspect(inspector, object->bytes, object->size, object->text_size,
                                   inspection, error);
    pthread_mutex_unlock(&inspector_lock);
    return status;
}

void module_retain(hipModule_t module)
{
    atomic_fetch_add(&module->references, 1);
}

static void destroy(hipModule_t module)
{
    program_unload(&module->program, &module->object, module->device->memory);
    code_object_free(&module->object);
    free(module->functions);
    free(module);
}

void module_release(hipModule_t module)
{
    if (atomic_fetch_sub(&module->references, 1) == 1)
        destroy(module);
}

/* Takes the handles of a module away; true for the one caller that did. */
static bool remove_handles(hipModule_t module)
{
    if (!handle_remove(HANDLE_MODULE, module))
        return false;
    for (size_t i = 0; i < module->program.kernel_count; i++)
        handle_remove(HANDLE_FUNCTION, &module->functions[i]);
    return true;
}

static bool add_handles(hipModule_t module)
{
    module->functions = calloc(module->program.kernel_count + 1, sizeof *module->functions);
    if (!module->functions)
        return false;
    size_t added = 0;
    for (; added < module->program.kernel_count; added++) {
        module->functions[added].module = module;
        module->functions[added].kernel = &module->program.kernels[added];
        if (!handle_add(HANDLE_FUNCTION, &module->functions[added]))
            break;
    }
    if (added == module->program.kernel_count && handle_add(HANDLE_MODULE, module))
        return true;
    while (added--)
        handle_remove(HANDLE_FUNCTION, &module->functions[added]);
    return false;
}

static dsajit_status load(struct device *device, const void *image, size_t size,
                          hipModule_t *result, dsajit_error *error)
{
    struct inspection inspection = {0};
    hipModule_t module = calloc(1, sizeof *module);
    if (!module)
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "out of memory");
    module->device = device;
    atomic_init(&module->references, 1);
    dsajit_status status = code_object_parse(image, size, &module->object, error);
    if (!status)
        status = inspect(&module->object, &inspection, error);
    if (!status)
        status =
            program_load(&module->object, bytes_text(&inspection.metadata),
                         bytes_text(&inspection.listing), device->memory, &module->program, error);
    if (!status && !add_handles(module))
        status = error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "out of memory");
    inspection_free(&inspection);
    module->object.bytes = NULL;
    if (status)
        destroy(module);
    else
        *result = module;
    return status;
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    struct device *device;
    if (!module || !image)
        return hip_fail(hipErrorInvalidValue, "hipModuleLoadData: a null pointer");
    hipError_t error = device_current("hipModuleLoadData", &device);
    if (!error)
        error = capture_forbid_unsafe("hipModuleLoadData");
    if (!error)
        error = device_check("hipModuleLoadData", device);
    if (error)
        return error;
    size_t size = code_object_measure(image);
    if (!size)
        return hip_fail(hipErrorInvalidImage, "hipModuleLoadData: the image is no ELF file");
    dsajit_error reason;
    if (load(device, image, size, module, &reason))
        return hip_fail_status("hipModuleLoadData", &reason);
    return hipSuccess;
}

hipError_t hipModuleUnload(hipModule_t module)
{
    if (!module)
        return hip_fail(hipErrorInvalidHandle, "hipModuleUnload: module is null");
    hipError_t error = capture_forbid_unsafe("hipModuleUnload");
    if (error)
        return error;
    if (!remove_handles(module))
        return hip_fail(hipErrorNotFound, "hipModuleUnload: %p is no loaded module",
                        (void *)module);
    /* Whatever of it is running ends first. */
    pthread_mutex_lock(&module->device->execution);
    pthread_mutex_unlock(&module->device->execution);
    module_release(module);
    return hipSuccess;
}

static hipError_t check_lookup(const char *function, const void *result, hipModule_t module,
                               const char *name)
{
    if (!result || !name || !*name)
        return hip_fail(hipErrorInvalidValue, "%s: no place for the result, or no name", function);
    if (!module || !handle_known(HANDLE_MODULE, module))
        return hip_fail(hipErrorInvalidHandle, "%s: %p is no loaded module", function,
                        (void *)module);
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    hipError_t error = check_lookup("hipModuleGetFunction", function, module, name);
    if (error)
        return error;
    for (size_t i = 0; i < module->program.kernel_count; i++) {
        if (strcmp(module->program.kernels[i].name, name) != 0)
            continue;
        *function = &module->functions[i];
        return hipSuccess;
    }
    return hip_fail(hipErrorNotFound, "hipModuleGetFunction: the module has no kernel %s", name);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, size_t *size, hipModule_t module,
                              const char *name)
{
    if (!pointer && !size)
        return hip_fail(hipErrorInvalidValue, "hipModuleGetGlobal: no place for the result");
    hipError_t error =
        check_lookup("hipModuleGetGlobal", pointer ? (void *)pointer : size, module, name);
    if (error)
        return error;
    for (size_t i = 0; i < module->object.variable_count; i++) {
        const struct code_symbol *variable = &module->object.variables[i];
        if (strcmp(variable->name, name) != 0)
            continue;
        if (pointer)
            *pointer = module->program.image + variable->address;
        if (size)
            *size = (size_t)variable->size;
        return hipSuccess;
    }
    return hip_fail(hipErrorNotFound, "hipModuleGetGlobal: the module has no variable %s", name);
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function)
{
    if (!value)
        return hip_fail(hipErrorInvalidValue, "hipFuncGetAttribute: value is null");
    if (!function || !handle_known(HANDLE_FUNCTION, function))
        return hip_fail(hipErrorInvalidDeviceFunction, "hipFuncGetAttribute: %p is no kernel",
                        (void *)function);
    const struct kernel *kernel = function->kernel;
    switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)kernel->workgroup_limit;
        break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)kernel->lds_size;
        break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = 0;
        break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)kernel->scratch_size;
        break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)kernel->vector_count;
        break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = DEVICE_LDS_SIZE - (int)kernel->lds_size;
        break;
    default:
        return hip_fail(hipErrorInvalidValue, "hipFuncGetAttribute: attribute %u isn't known",
                        attribute);
    }
    return hipSuccess;
}
