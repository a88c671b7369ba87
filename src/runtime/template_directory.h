/* Kernel templates read from a directory in place of the built-in ones, for kernel work. */
#ifndef RUNTIME_TEMPLATE_DIRECTORY_H
#define RUNTIME_TEMPLATE_DIRECTORY_H

#include "codegen/specialise.h"

/* With `directory` NULL, `*source` gets the built-in templates. Otherwise `*copy` gets a copy of
   the name, which `*source` uses and the caller frees. */
dsajit_status template_directory_open(const char *directory, char **copy,
                                      struct template_source *source, dsajit_error *error);

#endif
