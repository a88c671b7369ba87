#include "interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t received;

static void remember(int number)
{
    if (received) {
        signal(number, SIG_DFL);
        raise(number);
    }
    received = number;
}

void interrupt_watch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction present;
        struct sigaction wanted = {.sa_handler = remember, .sa_flags = SA_RESTART};
        sigemptyset(&wanted.sa_mask);
        if (sigaction(numbers[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
            sigaction(numbers[i], &wanted, NULL);
    }
}

int interrupt_signal(void)
{
    return received;
}
