/* A HIP runtime that counts calls and passes them on to the emulator. To dsajit it is a GPU's
   runtime like any other. */
#define HIP_FUNCTION(result, name, parameters)                                                     \
    __attribute__((visibility("hidden"))) unsigned long count_##name;
#include "base/hip_functions.def"

#define FORWARD_PROLOGUE(name) "lock incq count_" #name "(%rip)\n\t"
#include "../support/forward_hip.h"

static struct {
    const char *name;
    unsigned long *count;
} counters[] = {
#define HIP_FUNCTION(result, name, parameters) {#name, &count_##name},
#include "base/hip_functions.def"
};

static void forward_adjust(void)
{
    /* Every call goes to the emulator. */
}

/* Calls of one function since the last reset, or of all for NULL. */
unsigned long counting_hip_count(const char *name);
unsigned long counting_hip_count(const char *name)
{
    unsigned long sum = 0;
    for (size_t i = 0; i < FORWARD_COUNT; i++)
        if (!name || strcmp(name, counters[i].name) == 0)
            sum += *counters[i].count;
    return sum;
}

void counting_hip_reset(void);
void counting_hip_reset(void)
{
    for (size_t i = 0; i < FORWARD_COUNT; i++)
        *counters[i].count = 0;
}
