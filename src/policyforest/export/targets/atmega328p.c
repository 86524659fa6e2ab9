/* An ATmega328P at 16 MHz in simavr: text to the serial port, timer 1 as a clock of 8 processor cycles. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

#include "trial.h"

static volatile uint16_t turns;

ISR(TIMER1_OVF_vect) { ++turns; }

void put_text(const char *text)
{
  UCSR0B = 1 << TXEN0;
  for (; *text; ++text) {
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)*text;
  }
}

void start_ticks(void)
{
  TCCR1A = 0;
  TCCR1B = 1 << CS11;
  TIMSK1 = 1 << TOIE1;
  sei();
}

uint32_t ticks(void)
{
  uint16_t high, low;
  cli();
  low = TCNT1;
  high = turns;
  if ((TIFR1 & (1 << TOV1)) && low < 0x8000u) ++high;
  sei();
  return (uint32_t)high << 16 | low;
}

void finish(void)
{
  cli();
  sleep_enable();
  for (;;) sleep_cpu(); /* asleep without interrupts: simavr ends */
}
