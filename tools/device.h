/* Device memory and waiting, through the HIP runtime of a dsajit context: a GPU's or the
   emulator's. */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <dsajit/dsajit.h>

/* HIP's own signatures; its enumerations are ints in the C ABI, and hipSuccess is 0. */
struct device {
    int (*malloc)(void **pointer, size_t size);
    int (*free)(void *pointer);
    int (*memcpy)(void *to, const void *from, size_t size, int kind);
    int (*synchronize)(void);
    const char *(*error_string)(int error);
    const char *(*describe_fault)(void); /* the emulator's account of a kernel fault; or NULL */
};

/* NO_DEVICE names the function that the runtime lacks. */
dsajit_status device_open(const dsajit_context *context, struct device *device,
                          dsajit_error *error);

/* Never of size 0: `size` 0 gives a live pointer too. */
dsajit_status device_allocate(const struct device *device, size_t size, void **pointer,
                              dsajit_error *error);
dsajit_status device_upload(const struct device *device, void *to, const void *from, size_t size,
                            dsajit_error *error);
dsajit_status device_download(const struct device *device, void *to, const void *from, size_t size,
                              dsajit_error *error);
/* NULL is allowed. */
void device_free(const struct device *device, void *pointer);

/* Waits for all work. KERNEL_FAULT when a kernel faulted, with the emulator's account. */
dsajit_status device_synchronize(const struct device *device, dsajit_error *error);

#endif
