/* What writer and reader of bundles share. */
#ifndef CACHE_BUNDLE_FORMAT_H
#define CACHE_BUNDLE_FORMAT_H

#include "base/digest.h"
#include "cache/bundle.h"

#define BUNDLE_SIGNATURE_NAME "dsajit-bundle.sig"
#define BUNDLE_MANIFEST_NAME  "dsajit-bundle.manifest"
#define BUNDLE_MANIFEST_BEGIN "dsajit-bundle=1\n"

/* "signer=HEX\nsignature=HEX\n" */
#define BUNDLE_SIGNER    "signer="
#define BUNDLE_SIGNATURE "\nsignature="
enum {
    BUNDLE_SIGNATURE_FILE_SIZE = sizeof BUNDLE_SIGNER - 1 + PUBLIC_KEY_DIGITS +
                                 sizeof BUNDLE_SIGNATURE - 1 + SIGNATURE_DIGITS + 1
};

/* BUCKET/BASE-TOOLCHAIN.dsajit of an entry's key. */
void bundle_name_entry(const struct cache_entry *entry, char name[BUNDLE_NAME_SIZE]);

#endif
