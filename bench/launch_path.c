/* What a launch of a resident kernel costs beside the HIP call: with a HIP runtime whose launch
   returns at once, against calling that function alone. */
#include "series.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

enum { BATCHES = 50, CALLS = 20000 };

/* HIP's own signature; its handles are pointers and its enumerations ints. */
typedef int launch_function(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                            unsigned block_x, unsigned block_y, unsigned block_z, unsigned lds,
                            void *stream, void **arguments, void **extra);

static double forward_ns(dsajit_context *context, const struct attention_call *call)
{
    dsajit_error error;
    const double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        require(dsajit_sparse_mla_forward(context, &call->arguments, NULL, &error), &error);
    return (now_ns() - start) / CALLS;
}

static double direct_ns(launch_function *launch)
{
    int results = 0;
    const double start = now_ns();
    for (int i = 0; i < CALLS; i++)
        results |= launch(NULL, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
    const double elapsed = (now_ns() - start) / CALLS;
    return results ? 0 : elapsed;
}

int main(void)
{
    struct series forward = {0}, direct = {0}, difference = {0};
    struct attention_call call;
    dsajit_context *context = open_context(DSAJIT_DEVICE_HIP, INSTANT_HIP);
    launch_function *launch;
    void *symbol = dsajit_hip_symbol(context, "hipModuleLaunchKernel");
    memcpy(&launch, &symbol, sizeof launch);
    attention_call_create(&call, context, DSAJIT_HEADS_MAX);
    forward_ns(context, &call); /* compiles, loads and warms up */
    for (int i = 0; i < BATCHES; i++) {
        const double ours = forward_ns(context, &call), theirs = direct_ns(launch);
        series_add(&forward, ours);
        series_add(&direct, theirs);
        series_add(&difference, ours - theirs);
    }
    series_print("dsajit_sparse_mla_forward, resident", &forward, "ns");
    series_print("  the HIP call alone", &direct, "ns");
    series_print("  beyond it", &difference, "ns");
    attention_call_free(&call);
    dsajit_close(context);
    return 0;
}
