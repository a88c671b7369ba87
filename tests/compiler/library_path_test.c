/* Reading the dynamic loader's cache. */
#include "compiler/library_path.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct visits {
    char folders[8][256];
    size_t count, stop_after;
};

static bool keep(void *user, const char *folder)
{
    struct visits *visits = user;
    if (visits->count < 8)
        snprintf(visits->folders[visits->count], sizeof visits->folders[0], "%s", folder);
    visits->count++;
    return visits->count == visits->stop_after;
}

static void put_u32(struct bytes *bytes, uint32_t value)
{
    bytes_append(bytes, &value, sizeof value);
}

/* A cache of two libraries named libhiprtc and another, as glibc has it: header, entries, text. */
static void make_cache(struct bytes *cache)
{
    static const char strings[] = "libhiprtc.so.7\0/opt/a/lib/libhiprtc.so.7\0"
                                  "libc.so.6\0/lib/libc.so.6\0"
                                  "libhiprtc.so.6\0/opt/b/lib/libhiprtc.so.6";
    static const uint32_t offsets[3][2] = {{0, 15}, {41, 51}, {66, 81}};
    const uint32_t first_string = 48 + 3 * 24;
    bytes_append_text(cache, "glibc-ld.so.cache1.1");
    put_u32(cache, 3);
    put_u32(cache, sizeof strings);
    for (int i = 0; i < 5; i++)
        put_u32(cache, 0);
    for (int i = 0; i < 3; i++) {
        put_u32(cache, 0x303);
        put_u32(cache, first_string + offsets[i][0]);
        put_u32(cache, first_string + offsets[i][1]);
        for (int j = 0; j < 3; j++)
            put_u32(cache, 0);
    }
    bytes_append(cache, strings, sizeof strings);
}

static void folders_of_the_library_are_visited_in_order(void **state)
{
    (void)state;
    struct bytes cache = {0};
    struct visits visits = {0};
    make_cache(&cache);
    assert_false(library_cache_search(&cache, "libhiprtc.so", keep, &visits));
    assert_int_equal(visits.count, 2);
    assert_string_equal(visits.folders[0], "/opt/a/lib");
    assert_string_equal(visits.folders[1], "/opt/b/lib");
    bytes_free(&cache);
}

static void the_search_stops_where_it_is_told(void **state)
{
    (void)state;
    struct bytes cache = {0};
    struct visits visits = {.stop_after = 1};
    make_cache(&cache);
    assert_true(library_cache_search(&cache, "libhiprtc.so", keep, &visits));
    assert_int_equal(visits.count, 1);
    bytes_free(&cache);
}

static void this_machine_s_cache_knows_its_c_library(void **state)
{
    (void)state;
    struct bytes cache = {0};
    struct visits visits = {0};
    if (file_read("/etc/ld.so.cache", 16 << 20, &cache, NULL))
        skip();
    library_cache_search(&cache, "libc.so.6", keep, &visits);
    assert_true(visits.count >= 1);
    assert_int_equal(visits.folders[0][0], '/');
    bytes_free(&cache);
}

static void any_bytes_are_survived(void **state)
{
    (void)state;
    struct bytes whole = {0};
    make_cache(&whole);
    srand(7);
    for (int round = 0; round < 20000; round++) {
        /* In memory of its own, so that a sanitizer sees a read beyond it. */
        struct bytes cache = {0};
        size_t size = round % 2 ? (size_t)rand() % (whole.size + 1) : whole.size;
        bytes_append(&cache, whole.data, size);
        for (int change = 0; size && change < round % 5; change++)
            cache.data[(size_t)rand() % size] = (uint8_t)rand();
        struct visits visits = {0};
        library_cache_search(&cache, "libhiprtc.so", keep, &visits);
        bytes_free(&cache);
    }
    bytes_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders_of_the_library_are_visited_in_order),
        cmocka_unit_test(the_search_stops_where_it_is_told),
        cmocka_unit_test(this_machine_s_cache_knows_its_c_library),
        cmocka_unit_test(any_bytes_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
