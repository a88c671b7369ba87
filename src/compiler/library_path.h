/* The folders in which the system's dynamic loader would find a library. */
#ifndef COMPILER_LIBRARY_PATH_H
#define COMPILER_LIBRARY_PATH_H

#include "base/bytes.h"

#include <stdbool.h>

typedef bool (*library_path_visitor)(void *user, const char *folder);

/* Visits folders in the loader's order until `visit` returns true; true then: those of
   LD_LIBRARY_PATH, those in which /etc/ld.so.cache knows a file whose name starts with `library`,
   or where that file can't be read the loader's defaults. Folders need not exist. */
bool library_path_search(const char *library, library_path_visitor visit, void *user);

/* The second of these, from the bytes of an ld.so.cache, which may be anything. */
bool library_cache_search(const struct bytes *cache, const char *library,
                          library_path_visitor visit, void *user);

#endif
