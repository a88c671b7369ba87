/* The first use of a kernel that is on the disk: from the call until it has been launched. On a HIP
   runtime that loads and launches at once this is dsajit's own part; on the emulator the decoding
   of the machine code comes on top. */
#include "series.h"
#include "support.h"

#include <stdio.h>

enum { REPEATS = 10 };

static double first_call_us(dsajit_context *context, int heads)
{
    struct attention_call call;
    dsajit_error error;
    attention_call_create(&call, context, heads);
    const double start = now_ns();
    require(dsajit_sparse_mla_forward(context, &call.arguments, NULL, &error), &error);
    const double elapsed = (now_ns() - start) / 1e3;
    attention_call_free(&call);
    return elapsed;
}

/* A context's first look-up also finds the toolchain, which is remembered on the disk. */
static void measure(const char *name, dsajit_device_kind kind, const char *library, int repeats)
{
    struct series first = {0}, further = {0}, opening = {0};
    char label[96];
    for (int i = 0; i < repeats; i++) {
        const double start = now_ns();
        dsajit_context *context = open_context(kind, library);
        series_add(&opening, (now_ns() - start) / 1e3);
        for (int heads = 1; heads <= DSAJIT_HEADS_MAX; heads++)
            series_add(heads == 1 ? &first : &further, first_call_us(context, heads));
        dsajit_close(context);
    }
    snprintf(label, sizeof label, "%s: opening a context", name);
    series_print(label, &opening, "us");
    snprintf(label, sizeof label, "%s: its first kernel", name);
    series_print(label, &first, "us");
    snprintf(label, sizeof label, "%s: each further kernel", name);
    series_print(label, &further, "us");
}

int main(void)
{
    dsajit_error error;
    dsajit_plan *plan =
        make_plan("sparse_mla/gfx950/has_invalid=0,return_lse=0,index=i32,scale=pow2,math=bf16");
    dsajit_context *context = open_context(DSAJIT_DEVICE_EMULATOR, NULL);
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT; /* the emulator's listings are on the disk then, too */
    require(dsajit_warmup(context, plan, &options, NULL, &error), &error);
    dsajit_close(context);
    dsajit_plan_free(plan);
    measure("instant HIP", DSAJIT_DEVICE_HIP, INSTANT_HIP, REPEATS);
    measure("emulator", DSAJIT_DEVICE_EMULATOR, NULL, 1);
    return 0;
}
