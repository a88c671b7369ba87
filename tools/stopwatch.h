/* Time that has passed. */
#ifndef TOOLS_STOPWATCH_H
#define TOOLS_STOPWATCH_H

/* Milliseconds of a clock that nobody sets. */
double stopwatch_ms(void);

#endif
