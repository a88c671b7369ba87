#include "api_fixture.h"

#include <stdio.h>
#include <string.h>

struct fake_toolchain toolchain;

int make_toolchain(void **state)
{
    (void)state;
    fake_toolchain_make("api_toolchain", &toolchain);
    return 0;
}

void open_fixture(struct fixture *fixture, const char *name, int count)
{
    fresh_folder(name, fixture->cache);
    fixture->context = fake_toolchain_open(&toolchain, fixture->cache, &fixture->lines);
    for (int i = 0; i < count; i++) {
        char variant[128];
        dsajit_kernel_info info;
        fake_toolchain_variant(i, variant);
        assert_int_equal(dsajit_prepare(fixture->context, variant, &info, NULL), DSAJIT_OK);
    }
}

void close_fixture(struct fixture *fixture)
{
    dsajit_close(fixture->context);
}

bool see(void *user, const dsajit_cache_entry *entry)
{
    struct seen *seen = user;
    seen->count++;
    seen->states[entry->state]++;
    seen->last = *entry;
    snprintf(seen->path, sizeof seen->path, "%s", entry->path);
    snprintf(seen->problem, sizeof seen->problem, "%s", entry->problem);
    snprintf(seen->variant, sizeof seen->variant, "%s", entry->variant);
    snprintf(seen->kind, sizeof seen->kind, "%s", entry->kind);
    seen->code_size = 0;
    for (size_t i = 0; i < entry->section_count; i++) {
        if (!strcmp(entry->sections[i].name, "code"))
            seen->code_size = entry->sections[i].size;
    }
    return seen->count != seen->stop_after;
}
