/* SIGINT and SIGTERM as a wish to stop: the first is remembered, a second one kills. */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

/* From now on. A signal that is ignored stays ignored, as for a program under nohup. */
void interrupt_watch(void);

/* The signal that came; 0: none yet. */
int interrupt_signal(void);

#endif
