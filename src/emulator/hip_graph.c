#include "emulator/hip_graph.h"

#include "emulator/handles.h"
#include "emulator/hip_capture.h"
#include "emulator/hip_stream.h"

#include <stdlib.h>
#include <string.h>

struct hipGraphExec {
    struct ihipGraph graph; /* a copy of its own */
};

bool frontier_copy(struct frontier *frontier, const struct frontier *other)
{
    size_t *nodes = malloc((other->count + 1) * sizeof *nodes);
    if (!nodes)
        return false;
    if (other->count)
        memcpy(nodes, other->nodes, other->count * sizeof *nodes);
    free(frontier->nodes);
    *frontier = (struct frontier){nodes, other->count};
    return true;
}

bool frontier_set(struct frontier *frontier, size_t node)
{
    return frontier_copy(frontier, &(struct frontier){&node, 1});
}

static bool contains(const struct frontier *frontier, size_t node)
{
    for (size_t i = 0; i < frontier->count; i++)
        if (frontier->nodes[i] == node)
            return true;
    return false;
}

bool frontier_merge(struct frontier *frontier, const struct frontier *other)
{
    size_t *nodes = realloc(frontier->nodes, (frontier->count + other->count + 1) * sizeof *nodes);
    if (!nodes)
        return false;
    frontier->nodes = nodes;
    for (size_t i = 0; i < other->count; i++)
        if (!contains(frontier, other->nodes[i]))
            nodes[frontier->count++] = other->nodes[i];
    return true;
}

void frontier_clear(struct frontier *frontier)
{
    free(frontier->nodes);
    *frontier = (struct frontier){0};
}

hipGraph_t graph_create(void)
{
    return calloc(1, sizeof(struct ihipGraph));
}

static void clear(struct ihipGraph *graph)
{
    for (size_t i = 0; i < graph->count; i++) {
        command_free(&graph->nodes[i].command);
        frontier_clear(&graph->nodes[i].dependencies);
    }
    free(graph->nodes);
}

void graph_destroy(hipGraph_t graph)
{
    if (!graph)
        return;
    clear(graph);
    free(graph);
}

bool graph_append(hipGraph_t graph, const struct command *command,
                  const struct frontier *dependencies)
{
    struct graph_node node = {.command = *command};
    struct graph_node *nodes = realloc(graph->nodes, (graph->count + 1) * sizeof *nodes);
    if (!nodes)
        return false;
    graph->nodes = nodes;
    if (!frontier_copy(&node.dependencies, dependencies))
        return false;
    nodes[graph->count++] = node;
    return true;
}

hipError_t graph_check_joined(const char *function, const struct ihipGraph *graph,
                              const struct frontier *frontier)
{
    bool *reached = calloc(graph->count + 1, sizeof *reached);
    if (!reached)
        return hip_fail(hipErrorOutOfMemory, "%s: out of memory", function);
    for (size_t i = 0; i < frontier->count; i++)
        reached[frontier->nodes[i]] = true;
    /* A node's dependencies come before it, so one pass from the end reaches all. */
    size_t unjoined = 0;
    for (size_t i = graph->count; i--;) {
        const struct frontier *dependencies = &graph->nodes[i].dependencies;
        unjoined += !reached[i];
        for (size_t j = 0; reached[i] && j < dependencies->count; j++)
            reached[dependencies->nodes[j]] = true;
    }
    free(reached);
    if (unjoined)
        return hip_fail(hipErrorStreamCaptureUnjoined,
                        "%s: the stream hasn't waited for %zu of the %zu captured commands",
                        function, unjoined, graph->count);
    return hipSuccess;
}

hipError_t hipGraphInstantiate(hipGraphExec_t *result, hipGraph_t graph, hipGraphNode_t *error_node,
                               char *log, size_t log_size)
{
    if (!result || !graph || !handle_known(HANDLE_GRAPH, graph))
        return hip_fail(hipErrorInvalidValue, "hipGraphInstantiate: no graph, or no result");
    if (error_node)
        *error_node = NULL;
    if (log && log_size)
        *log = '\0';
    hipGraphExec_t executable = calloc(1, sizeof *executable);
    if (!executable)
        goto out_of_memory;
    for (size_t i = 0; i < graph->count; i++) {
        struct command command;
        if (!command_copy(&graph->nodes[i].command, &command))
            goto out_of_memory;
        if (!graph_append(&executable->graph, &command, &graph->nodes[i].dependencies)) {
            command_free(&command);
            goto out_of_memory;
        }
    }
    if (!handle_add(HANDLE_GRAPH_EXEC, executable))
        goto out_of_memory;
    *result = executable;
    return hipSuccess;
out_of_memory:
    if (executable)
        clear(&executable->graph);
    free(executable);
    return hip_fail(hipErrorOutOfMemory, "hipGraphInstantiate: out of memory");
}

/* A graph launched into a stream that is being captured becomes part of the graph there. */
static hipError_t launch_into_capture(const struct ihipGraph *graph, hipStream_t stream)
{
    hipError_t error = hipSuccess;
    for (size_t i = 0; i < graph->count && !error; i++) {
        struct command command;
        if (!command_copy(&graph->nodes[i].command, &command))
            return hip_fail(hipErrorOutOfMemory, "hipGraphLaunch: out of memory");
        error = stream_submit("hipGraphLaunch", stream, &command);
    }
    return error;
}

hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t handle)
{
    hipStream_t stream;
    bool capturing;
    if (!executable || !handle_known(HANDLE_GRAPH_EXEC, executable))
        return hip_fail(hipErrorInvalidValue, "hipGraphLaunch: %p is no executable graph",
                        (void *)executable);
    hipError_t error = stream_find("hipGraphLaunch", handle, &stream);
    if (!error)
        error = capture_check("hipGraphLaunch", stream, &capturing);
    if (error)
        return error;
    if (capturing)
        return launch_into_capture(&executable->graph, stream);
    stream_begin(stream);
    for (size_t i = 0; i < executable->graph.count && !error; i++)
        error = command_run("hipGraphLaunch", stream->device, &executable->graph.nodes[i].command);
    stream_end(stream);
    return error;
}

hipError_t hipGraphDestroy(hipGraph_t graph)
{
    if (!graph || !handle_remove(HANDLE_GRAPH, graph))
        return hip_fail(hipErrorInvalidValue, "hipGraphDestroy: %p is no graph", (void *)graph);
    graph_destroy(graph);
    return hipSuccess;
}

hipError_t hipGraphExecDestroy(hipGraphExec_t executable)
{
    if (!executable || !handle_remove(HANDLE_GRAPH_EXEC, executable))
        return hip_fail(hipErrorInvalidValue, "hipGraphExecDestroy: %p is no executable graph",
                        (void *)executable);
    clear(&executable->graph);
    free(executable);
    return hipSuccess;
}
