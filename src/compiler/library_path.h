/* The folders in which the system's dynamic loader looks for libraries. */
#ifndef COMPILER_LIBRARY_PATH_H
#define COMPILER_LIBRARY_PATH_H

#include <stdbool.h>

/* Visits each folder in the loader's order until `visit` returns true; true then. LD_LIBRARY_PATH,
   what /etc/ld.so.conf names, and the loader's own defaults. Folders need not exist. */
bool library_path_search(bool (*visit)(void *user, const char *folder), void *user);

#endif
