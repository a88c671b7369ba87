/* Graphs of commands. Nodes are kept in the order in which they were captured, which satisfies
   every dependency, so running them in that order is right. */
#ifndef EMULATOR_HIP_GRAPH_H
#define EMULATOR_HIP_GRAPH_H

#include "emulator/hip_command.h"

/* A set of nodes of one graph, by index: what comes after it comes after all of them. */
struct frontier {
    size_t *nodes;
    size_t count;
};

/* All three are false when memory ran out, and leave `frontier` as it was. */
bool frontier_set(struct frontier *frontier, size_t node);
bool frontier_merge(struct frontier *frontier, const struct frontier *other);
bool frontier_copy(struct frontier *frontier, const struct frontier *other);
void frontier_clear(struct frontier *frontier);

struct graph_node {
    struct command command;
    struct frontier dependencies;
};

struct ihipGraph {
    struct graph_node *nodes;
    size_t count;
};

hipGraph_t graph_create(void); /* NULL when memory ran out */
void graph_destroy(hipGraph_t graph);

/* Takes the command over, unless memory runs out. */
bool graph_append(hipGraph_t graph, const struct command *command,
                  const struct frontier *dependencies);

/* Whether every node is in `frontier` or comes before one that is. */
hipError_t graph_check_joined(const char *function, const struct ihipGraph *graph,
                              const struct frontier *frontier);

#endif
