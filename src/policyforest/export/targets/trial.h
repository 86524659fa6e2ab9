/* What a target gives to a trial. */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdint.h>
#include <string.h>

void put_text(const char *text);
void start_ticks(void);
uint32_t ticks(void); /* counts up */
void finish(void);

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define TRIAL_IN_FLASH PROGMEM
#define read_state(to, from) memcpy_P(to, from, sizeof to)
#else
#define TRIAL_IN_FLASH
#define read_state(to, from) memcpy(to, from, sizeof to)
#endif

#endif
