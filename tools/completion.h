/* The listing that shell completion is made from, so that it can't go stale. */
#ifndef TOOLS_COMPLETION_H
#define TOOLS_COMPLETION_H

#include "command.h"

/* Standard output, a line a command: its name, a tab, its long options with blanks between them.
   One that takes a value is followed by '=' and what its help calls the value: FILE, DIR, or the
   values themselves, "auto|plain|off". */
void completion_print(const struct command *commands, size_t count);

#endif
