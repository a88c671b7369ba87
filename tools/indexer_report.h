/* What dsajit run indexer prints about a run. */
#ifndef TOOLS_INDEXER_REPORT_H
#define TOOLS_INDEXER_REPORT_H

#include "indexer_comparison.h"

struct indexer_report {
    const struct indexer_case *problem;
    dsajit_device_info device;
    struct indexer_execution execution;
    struct indexer_comparison comparison;
};

void indexer_report_print(const struct indexer_report *report);
void indexer_report_print_json(const struct indexer_report *report);

#endif
