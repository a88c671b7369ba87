/* Times for people. */
#ifndef TOOLS_DURATION_H
#define TOOLS_DURATION_H

/* "3 ms", "1.9 s", "42 s", "3 min 05 s". */
struct duration_text {
    char text[32];
};
struct duration_text duration_format(double milliseconds);

#endif
