/* A kernel's resources and compile time as the text of a cache entry's "resources" section: a line
 * "name=number" for each. */
#ifndef RUNTIME_RESOURCES_H
#define RUNTIME_RESOURCES_H

#include "base/bytes.h"
#include "compiler/compiler.h"
#include "dsajit/dsajit.h"

#include <stdbool.h>

void resources_from_compiler(const struct compile_result *result, dsajit_kernel_info *info);
void resources_format(const dsajit_kernel_info *info, struct bytes *text);

/* False when a line is malformed or one is missing; unknown names are ignored, so that later
 * versions can add some. */
bool resources_parse(const char *text, size_t size, dsajit_kernel_info *info);

#endif
