/* What dsajit warmup says when it is through. */
#ifndef TOOLS_WARMUP_REPORT_H
#define TOOLS_WARMUP_REPORT_H

#include <dsajit/warmup.h>

struct warmup_outcome {
    dsajit_warm_level level;
    dsajit_warm_report report;
    dsajit_error error; /* its status is OK when all went well */
    int signal;         /* that stopped it; 0: none */
};

/* The result on standard output, a failure on standard error as well. */
void warmup_report_print(const struct warmup_outcome *outcome, bool json);

#endif
