/* What dsajit run prints about a run. */
#ifndef TOOLS_RUN_REPORT_H
#define TOOLS_RUN_REPORT_H

#include "comparison.h"
#include "execution.h"

struct run_report {
    const struct problem *problem;
    dsajit_device_info device;
    struct execution execution;
    struct comparison errors; /* against the float64 reference */
};

void run_report_print(const struct run_report *report);
void run_report_print_json(const struct run_report *report);

#endif
