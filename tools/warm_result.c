#include "warm_result.h"

#include "command.h"

json_t *warm_result_json(const dsajit_warm_result *result)
{
    json_t *object = json_pack("{s:s, s:s}", "variant", result->variant, "status",
                               dsajit_status_name(result->status));
    json_object_set_new(object, "origin",
                        result->status ? json_null()
                                       : json_string(command_origin_name(result->origin)));
    json_object_set_new(object, "start_ms", command_json_number(result->start_ms));
    json_object_set_new(object, "compile_ms", command_json_number(result->compile_ms));
    json_object_set_new(object, "resident_ms", command_json_number(result->resident_ms));
    json_object_set_new(object, "worker", json_integer(result->worker));
    if (result->status)
        json_object_set_new(object, "error", json_string(result->error.message));
    return object;
}
