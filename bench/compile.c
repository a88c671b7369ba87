/* What a cold compile costs, and what it consists of. */
#include "series.h"
#include "support.h"

#include <dsajit/inspect.h>

#include <stdio.h>

enum { REPEATS = 3 };

/* One time each, in milliseconds. */
static struct {
    struct series identify; /* finding out which toolchain it is: once for each, then remembered */
    struct series source;   /* making the source */
    struct series alone;    /* dsajit_prepare, with a helper of its own */
    struct series kept;     /* the same in a warmup, whose helper stays for the next one */
    struct series compiler; /* in the helper, hipRTC's and comgr's part of that */
    struct series look_up;  /* dsajit_prepare of what is on the disk */
} times;

static double elapsed_ms(double start)
{
    return (now_ns() - start) / 1e6;
}

static double prepare(dsajit_context *context, const char *variant, dsajit_kernel_info *info)
{
    dsajit_error error;
    const double start = now_ns();
    require(dsajit_prepare(context, variant, info, &error), &error);
    return elapsed_ms(start);
}

static void measure_alone(const dsajit_plan *plan)
{
    dsajit_error error;
    dsajit_toolchain_info toolchain;
    dsajit_context *context = open_context(DSAJIT_DEVICE_NONE, NULL);
    double start = now_ns();
    require(dsajit_get_toolchain_info(context, &toolchain, &error), &error);
    series_add(&times.identify, elapsed_ms(start));
    for (size_t i = 0; i < dsajit_plan_size(plan); i++) {
        const char *variant = dsajit_plan_variant(plan, i);
        dsajit_text source;
        dsajit_kernel_info info;
        start = now_ns();
        require(dsajit_get_source(context, variant, &source, &error), &error);
        series_add(&times.source, elapsed_ms(start));
        dsajit_text_free(&source);
        series_add(&times.alone, prepare(context, variant, &info));
        series_add(&times.compiler, info.compile_ms);
        series_add(&times.look_up, prepare(context, variant, &info));
    }
    dsajit_close(context);
}

/* The first of a warmup pays for the helper's start; the others don't. */
static void measure_kept(const dsajit_plan *plan)
{
    dsajit_error error;
    dsajit_toolchain_info toolchain;
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    dsajit_warm_report report;
    dsajit_context *context = open_context(DSAJIT_DEVICE_NONE, NULL);
    options.jobs = 1;
    require(dsajit_get_toolchain_info(context, &toolchain, &error), &error);
    require(dsajit_warmup(context, plan, &options, &report, &error), &error);
    for (size_t i = 1; i < report.count; i++)
        series_add(&times.kept, report.results[i].compile_ms);
    dsajit_warm_report_free(&report);
    dsajit_close(context);
}

int main(int argc, char **argv)
{
    const char *selection = argc > 1 ? argv[1]
                                     : "sparse_mla/gfx950/heads=16,has_invalid=0,index=i32,"
                                       "scale=pow2";
    dsajit_plan *plan = make_plan(selection);
    for (int i = 0; i < REPEATS; i++) {
        scratch_clear();
        measure_alone(plan);
        scratch_clear();
        measure_kept(plan);
    }
    printf("%zu variants: %s\n", dsajit_plan_size(plan), selection);
    series_print("cold compile of a variant, alone", &times.alone, "ms");
    series_print("  in a warmup, the helper being there", &times.kept, "ms");
    series_print("  of it hipRTC and comgr", &times.compiler, "ms");
    series_print("  of it making the source", &times.source, "ms");
    printf("%-44s %10.4g ms\n", "  start of a helper (difference)",
           series_median(&times.alone) - series_median(&times.kept));
    printf("%-44s %10.4g ms\n", "  writing, look-ups and the rest (difference)",
           series_median(&times.kept) - series_median(&times.compiler));
    series_print("once a toolchain: its identity", &times.identify, "ms");
    series_print("the same variant from the disk", &times.look_up, "ms");
    dsajit_plan_free(plan);
    return 0;
}
