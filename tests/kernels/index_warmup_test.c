/* The families beside sparse MLA are warmed like any other: compiled without scratch or spills,
   loaded, and launched once. */
#include "harness.h"

#include "dsajit/warmup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void every_family_becomes_resident(void **state)
{
    (void)state;
    static const char *const selections[] = {
        "mla_cache_write",
        "indexer_key/gfx950/page_tokens=64",
        "indexer_key/gfx950/norm=none,format=fp8,page_tokens=1",
        "indexer_query/gfx950/heads=32",
        "dcp_ids",
        "dcp_pack",
        "dcp_topk",
        "dcp_attention",
    };
    enum { VARIANTS = 1 + 3 * 2 + 1 + 2 + 2 + 2 + 4 + 2 };
    dsajit_plan *plan;
    dsajit_error error = {0};
    dsajit_warm_options options = DSAJIT_WARM_OPTIONS_DEFAULT;
    options.level = DSAJIT_WARM_RESIDENT;
    assert_ok(dsajit_plan_create(&plan, &error), &error);
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++)
        assert_ok(dsajit_plan_add(plan, selections[i], &error), &error);
    assert_int_equal(dsajit_plan_size(plan), VARIANTS);
    dsajit_warm_report report = {0};
    assert_ok(dsajit_warmup(harness_context(), plan, &options, &report, &error), &error);
    assert_int_equal(report.count, VARIANTS);
    for (size_t i = 0; i < VARIANTS; i++) {
        const char *variant = dsajit_plan_variant(plan, i);
        dsajit_kernel_info info;
        assert_ok(dsajit_prepare(harness_context(), variant, &info, &error), &error);
        assert_true(report.results[i].resident_ms > 0);
        if (info.scratch_bytes || info.vgpr_spills || info.sgpr_spills)
            fail_msg("%s: %u bytes of scratch, %u VGPR and %u SGPR spills", variant,
                     info.scratch_bytes, info.vgpr_spills, info.sgpr_spills);
        print_message("%s: %u VGPRs, %u SGPRs, %u bytes of LDS\n", variant, info.vgprs, info.sgprs,
                      info.lds_bytes);
    }
    dsajit_warm_report_free(&report);
    dsajit_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_becomes_resident),
    };
    return cmocka_run_group_tests(tests, harness_open, harness_close);
}
