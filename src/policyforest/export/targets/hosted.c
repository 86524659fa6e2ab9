/* A target with an operating system: text to standard output, no count of instructions. */
#include <stdio.h>

#include "trial.h"

void put_text(const char *text) { fputs(text, stdout); }
void start_ticks(void) {}
uint32_t ticks(void) { return 0; }
void finish(void) { fflush(stdout); }
