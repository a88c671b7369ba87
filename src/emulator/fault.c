#include "emulator/fault.h"

#include <stdarg.h>
#include <stdio.h>

static bool execute_defect(struct wave *wave, const struct instruction *instruction)
{
    return wave_fault(wave, instruction, -1, "%s", instruction->defect);
}

const struct opcode opcode_defect = {"(defect)", "", execute_defect, 0};

void fault_make_end(struct instruction *instruction, const struct program *program)
{
    uint32_t end = 0;
    if (program->instruction_count) {
        const struct instruction *last = &program->instructions[program->instruction_count - 1];
        end = last->offset + last->size;
    }
    *instruction = (struct instruction){.opcode = &opcode_defect,
                                        .text = "(end of .text)",
                                        .defect = "execution ran past the last instruction",
                                        .offset = end,
                                        .target = TARGET_NONE};
}

/* Only the first fault is kept: those that follow are often its consequences. */
__attribute__((format(printf, 3, 0))) static bool
record(struct workgroup *workgroup, const char *where, const char *format, va_list arguments)
{
    struct grid *grid = workgroup->grid;
    char message[sizeof grid->error.message];
    vsnprintf(message, sizeof message, format, arguments);
    pthread_mutex_lock(&grid->mutex);
    if (grid->error.status == DSAJIT_OK)
        error_set(&grid->error, DSAJIT_ERROR_KERNEL_FAULT, "kernel %s, workgroup (%u,%u,%u)%s: %s",
                  grid->dispatch->kernel->name, workgroup->id[0], workgroup->id[1],
                  workgroup->id[2], where, message);
    pthread_mutex_unlock(&grid->mutex);
    atomic_store(&grid->stopped, true);
    return false;
}

bool workgroup_fault(struct workgroup *workgroup, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(workgroup, "", format, arguments);
    va_end(arguments);
    return false;
}

bool wave_fault(struct wave *wave, const struct instruction *instruction, int lane,
                const char *format, ...)
{
    char lane_text[24] = "", where[256];
    if (lane >= 0)
        snprintf(lane_text, sizeof lane_text, ", lane %d", lane);
    snprintf(where, sizeof where, ", wave %u%s, pc 0x%x: %s", wave->index, lane_text,
             instruction->offset, instruction->text);
    wave->state = WAVE_FAULTED;
    va_list arguments;
    va_start(arguments, format);
    record(wave->workgroup, where, format, arguments);
    va_end(arguments);
    return false;
}
