#include "duration.h"

#include <stdio.h>

struct duration_text duration_format(double milliseconds)
{
    struct duration_text result;
    const double seconds = milliseconds / 1e3;
    if (milliseconds < 999.5) {
        snprintf(result.text, sizeof result.text, "%.0f ms", milliseconds);
    } else if (seconds < 9.95) {
        snprintf(result.text, sizeof result.text, "%.1f s", seconds);
    } else if (seconds < 99.5) {
        snprintf(result.text, sizeof result.text, "%.0f s", seconds);
    } else {
        const unsigned long whole = (unsigned long)(seconds + 0.5);
        snprintf(result.text, sizeof result.text, "%lu min %02lu s", whole / 60, whole % 60);
    }
    return result;
}
