/* Faults: what stops a dispatch, told once and precisely. */
#ifndef EMULATOR_FAULT_H
#define EMULATOR_FAULT_H

#include "emulator/workgroup.h"

/* Of every instruction that could not be decoded: faults with its `defect`. */
extern const struct opcode opcode_defect;

/* Makes the instruction that stands behind the last one of `program`. */
void fault_make_end(struct instruction *instruction, const struct program *program);

/* A fault of the workgroup as a whole: "kernel NAME, workgroup (x,y,z): " and the message. Returns
   false. */
bool workgroup_fault(struct workgroup *workgroup, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
