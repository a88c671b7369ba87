/* What each kernel family costs on the emulator: its warm launch, a problem of one token as warmup
   makes it, by time and by instructions executed. Prints README's table. */
#include "series.h"
#include "support.h"

#include "emulator/emulator.h"

#include <stdio.h>
#include <string.h>

enum { REPEATS = 21 };

/* One or two variants a family, of those that engines use. */
static const char *const selections[] = {
    "sparse_mla//heads=16,has_invalid=0,return_lse=1,index=i32,scale=pow2",
    "mla_cache_write",
    "indexer_key//norm=layernorm,format=fp8,page_tokens=64",
    "indexer_key//norm=layernorm,format=mxfp4,page_tokens=64",
    "indexer_query//format=fp8,heads=32",
    "indexer_query//format=mxfp4,heads=32",
    "indexer_score//format=fp8,heads=32,addressing=pages,clean=0",
    "indexer_score//format=mxfp4,heads=32,addressing=pages,clean=0",
    "topk//stable=0,scores=0",
    "index_lists//index=i32",
    "dcp_ids//direction=to_global",
    "dcp_pack//scores=list",
    "dcp_topk//capacity=4096",
    "dcp_attention//out=bf16",
};

typedef void (*counters_function)(struct dsajit_emulator_counters *counters);

static counters_function find_counters(const dsajit_context *context)
{
    counters_function function;
    void *symbol = dsajit_hip_symbol(context, "dsajit_emulator_counters");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* Milliseconds of launching once and waiting; the first time of loading, too. */
static double warm(dsajit_context *context, const dsajit_plan *plan)
{
    dsajit_error error;
    dsajit_warm_report report;
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    require(dsajit_warmup(context, plan, &options, &report, &error), &error);
    const double elapsed = report.results[0].resident_ms;
    dsajit_warm_report_free(&report);
    return elapsed;
}

static void measure(dsajit_context *context, const char *selection)
{
    dsajit_plan *plan = make_plan(selection);
    const counters_function read_counters = find_counters(context);
    struct dsajit_emulator_counters before, after;
    struct series times = {0};
    warm(context, plan);
    read_counters(&before);
    for (int i = 0; i < REPEATS; i++)
        series_add(&times, warm(context, plan));
    read_counters(&after);
    printf("| `%s` | %.2f | %llu | %llu |\n", dsajit_plan_variant(plan, 0), series_median(&times),
           (unsigned long long)(after.instructions - before.instructions) / REPEATS,
           (unsigned long long)(after.matrix - before.matrix) / REPEATS);
    dsajit_plan_free(plan);
}

int main(void)
{
    dsajit_context *context = open_context(DSAJIT_DEVICE_EMULATOR, NULL);
    printf("| variant | ms | wave instructions | of these matrix |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++)
        measure(context, selections[i]);
    dsajit_close(context);
    return 0;
}
