#include "kernel_json.h"

#include "command.h"

void kernel_json_add(json_t *object, const dsajit_kernel_info *kernel)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        {"vgprs", kernel->vgprs},
        {"agprs", kernel->agprs},
        {"sgprs", kernel->sgprs},
        {"lds_bytes", kernel->lds_bytes},
        {"scratch_bytes", kernel->scratch_bytes},
        {"vgpr_spills", kernel->vgpr_spills},
        {"sgpr_spills", kernel->sgpr_spills},
        {"code_bytes", kernel->code_bytes},
    };
    json_object_set_new(object, "compile_ms", command_json_number(kernel->compile_ms));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new(object, numbers[i].name, json_integer(numbers[i].value));
}
