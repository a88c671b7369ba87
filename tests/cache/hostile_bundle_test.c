/* Archives that are no bundles, most of them made to do harm. */
#include "support.h"

#include "base/digest.h"
#include "cache/bundle.h"
#include "cache/tar.h"

#include <stdio.h>
#include <string.h>

static void assert_refused(const struct bytes *archive, const char *words)
{
    struct bundle bundle;
    dsajit_error error = {0};
    assert_int_equal(bundle_open(archive->data, archive->size, NULL, 0, &bundle, &error),
                     DSAJIT_ERROR_CORRUPT);
    assert_contains(error.message, words);
}

/* A member as a bundle has it, but for its type. */
struct hostile_member {
    const char *name;
    const char *content;
    char type; /* as in a ustar header; 0: a regular file */
    const char *link;
};

/* What tar would make of it: the header's checksum is right. */
static void set_type(uint8_t header[TAR_BLOCK], char type, const char *link)
{
    enum { CHECKSUM = 148, TYPE = 156, LINK = 157 };
    unsigned sum = 0;
    header[TYPE] = (uint8_t)type;
    if (link)
        memcpy(header + LINK, link, strlen(link) + 1);
    memset(header + CHECKSUM, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += header[i];
    snprintf((char *)header + CHECKSUM, 7, "%06o", sum);
}

static void make_tar(const struct hostile_member *members, size_t count, struct bytes *archive)
{
    *archive = (struct bytes){0};
    for (size_t i = 0; i < count; i++) {
        const char *content = members[i].content ? members[i].content : "";
        size_t at = archive->size;
        tar_append(archive, members[i].name, content, strlen(content));
        if (members[i].type)
            set_type(archive->data + at, members[i].type, members[i].link);
    }
    tar_append_end(archive);
    assert_false(bytes_failed(archive));
}

/* A line of a manifest with the right digest and size. */
static void list(char *manifest, size_t room, const char *name, const char *content)
{
    uint8_t digest[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    digest_compute(content, strlen(content), digest);
    digest_to_hex(digest, hex);
    size_t used = strlen(manifest);
    snprintf(manifest + used, room - used, "%s %zu %s\n", hex, strlen(content), name);
}

/* The manifest is right in all that a signer's tool would check; the member's name isn't one that
   an entry has, or its content no entry. */
static void no_member_gets_out_of_its_place(void **state)
{
    (void)state;
    static const char *const names[] = {
        "../../etc/cron.d/evil",
        "/etc/cron.d/evil",
        "00/../../evil.dsajit",
        "00/evil",
        "evil.dsajit",
        ".",
        "..",
        "00/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd-0123456789abcdef.dsajit",
        "toolchain-0123456789abcdef",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char manifest[1024] = "dsajit-bundle=1\n";
        struct bytes archive;
        list(manifest, sizeof manifest, names[i], "evil");
        const struct hostile_member members[] = {{"dsajit-bundle.manifest", manifest, 0, NULL},
                                                 {names[i], "evil", 0, NULL}};
        make_tar(members, 2, &archive);
        assert_refused(&archive, names[i]);
        bytes_free(&archive);
    }
}

static void no_link_and_no_device_is_a_member(void **state)
{
    (void)state;
    static const char name[] =
        "00/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd-0123456789abcdef.dsajit";
    const struct hostile_member hostile[] = {
        {name, NULL, '1', "/etc/passwd"}, /* a hard link */
        {name, NULL, '2', "/etc/passwd"}, /* a symbolic one */
        {name, NULL, '3', NULL},          /* devices, a directory, a FIFO … */
        {name, NULL, '4', NULL},
        {name, NULL, '5', NULL},
        {name, NULL, '6', NULL},
        {name, NULL, 'x', NULL}, /* … headers that change the next member's … */
        {name, NULL, 'g', NULL},
        {name, NULL, 'L', NULL},
        {name, NULL, 'S', NULL}, /* … and a sparse file */
    };
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char manifest[1024] = "dsajit-bundle=1\n";
        struct bytes archive;
        list(manifest, sizeof manifest, name, "");
        const struct hostile_member members[] = {{"dsajit-bundle.manifest", manifest, 0, NULL},
                                                 hostile[i]};
        make_tar(members, 2, &archive);
        assert_refused(&archive, "no such file");
        bytes_free(&archive);
    }
}

static void manifests_are_taken_literally(void **state)
{
    (void)state;
    static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct {
        const char *manifest;
        const char *words;
    } cases[] = {
        {"", "another version"},
        {"dsajit-bundle=2\n", "another version"},
        {"dsajit-bundle=1", "another version"},
        {"dsajit-bundle=1\nx\n", "line 2"},
        {"dsajit-bundle=1\n\n", "line 2"},
        {"dsajit-bundle=1\nDIGEST 4 name", "end"},
        {"dsajit-bundle=1\nDIGEST 04 name\n", "line 2"},
        {"dsajit-bundle=1\nDIGEST -4 name\n", "line 2"},
        {"dsajit-bundle=1\nDIGEST 4  name\n", "no such file"},
        {"dsajit-bundle=1\nDIGEST 4 \n", "line 2"},
        {"dsajit-bundle=1\nDIGEST  4 name\n", "line 2"},
        {"dsajit-bundle=1\nDIGEST 268435457 name\n", "line 2"}, /* more than an entry has */
        {"dsajit-bundle=1\nDIGEST 99999999999999999999 name\n", "line 2"},
        {"dsajit-bundle=1\nDIGEST 268435456 name\n", "no such file"},
        {"dsajit-bundle=1\nDIGEST 4 name\n", "no such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char manifest[1024] = "";
        struct bytes archive;
        const char *place = strstr(cases[i].manifest, "DIGEST");
        snprintf(manifest, sizeof manifest, "%.*s%s%s",
                 place ? (int)(place - cases[i].manifest) : 1000, cases[i].manifest,
                 place ? digest : "", place ? place + 6 : "");
        const struct hostile_member member = {"dsajit-bundle.manifest", manifest, 0, NULL};
        make_tar(&member, 1, &archive);
        assert_refused(&archive, cases[i].words);
        bytes_free(&archive);
    }
}

static void too_many_members_are_refused(void **state)
{
    (void)state;
    static char manifest[(BUNDLE_MEMBERS_MAX + 3) * 2] = "dsajit-bundle=1\n";
    struct bytes archive;
    size_t size = strlen(manifest);
    for (int i = 0; i < BUNDLE_MEMBERS_MAX + 1; i++)
        manifest[size++] = '\n';
    const struct hostile_member member = {"dsajit-bundle.manifest", manifest, 0, NULL};
    make_tar(&member, 1, &archive);
    assert_refused(&archive, "too long");
    bytes_free(&archive);
}

static void other_archives_are_no_bundles(void **state)
{
    (void)state;
    const struct hostile_member other = {"README", "text", 0, NULL};
    struct bytes archive;
    make_tar(&other, 1, &archive);
    assert_refused(&archive, "no dsajit bundle");
    bytes_free(&archive);
    make_tar(NULL, 0, &archive);
    assert_refused(&archive, "no dsajit bundle");
    bytes_free(&archive);
    bytes_append(&archive, "", 0);
    assert_refused(&archive, "no dsajit bundle");
    bytes_free(&archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_member_gets_out_of_its_place),
        cmocka_unit_test(no_link_and_no_device_is_a_member),
        cmocka_unit_test(manifests_are_taken_literally),
        cmocka_unit_test(too_many_members_are_refused),
        cmocka_unit_test(other_archives_are_no_bundles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
