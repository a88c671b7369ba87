/* The one table of environment variables. */
#ifndef RUNTIME_SETTINGS_H
#define RUNTIME_SETTINGS_H

#include "base/error.h"

/* A warning for each variable that dsajit_visit_settings shows as unknown. */
void settings_warn_of_unknown(const struct logger *log);

#endif
