/* Reading the environment. */
#ifndef BASE_VARIABLE_H
#define BASE_VARIABLE_H

#include <stdlib.h>

/* As getenv, but unset and empty are the same, and a set-user-id program reads none. */
static inline const char *variable_get(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

#endif
