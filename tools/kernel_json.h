/* What is known of a kernel, as JSON. */
#ifndef TOOLS_KERNEL_JSON_H
#define TOOLS_KERNEL_JSON_H

#include <dsajit/dsajit.h>
#include <jansson.h>

/* Adds compile_ms, vgprs, agprs, sgprs, lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills and
   code_bytes. */
void kernel_json_add(json_t *object, const dsajit_kernel_info *kernel);

#endif
