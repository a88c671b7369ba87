/* A problem of each kernel family as small as one gets, for warm launches. */
#ifndef RUNTIME_FAMILY_PROBLEM_H
#define RUNTIME_FAMILY_PROBLEM_H

#include "runtime/call.h"

/* Device memory of a problem: zeroed, but that the place PROBLEM_ONE starts with {0, 1} as i64. */
enum { PROBLEM_PLACE_BYTES = 65536, PROBLEM_PLACES = 8, PROBLEM_ONE = PROBLEM_PLACES - 1 };

/* Sets the size of the one workgroup, and what the kernel gets. */
typedef void family_problem(char *memory, struct call *call);

/* One for each of `families`. */
extern family_problem *const family_problems[];

#endif
