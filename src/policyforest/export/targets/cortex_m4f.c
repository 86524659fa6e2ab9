/* A Cortex-M4F in QEMU (mps2-an386): start, semihosting, and SysTick as a counter of instructions.
 *
 * With -icount shift=8 an instruction takes 256 ns of virtual time, and SysTick counts every 40 ns. */
#include "trial.h"

extern uint32_t data_in_flash, data_begin, data_end, bss_begin, bss_end, stack_top;
int main(void);

static int semihosting(int operation, const void *argument)
{
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void put_text(const char *text) { semihosting(0x04, text); }

void start_ticks(void)
{
  volatile uint32_t *const systick = (volatile uint32_t *)0xe000e010u;
  systick[1] = 0xffffffu; /* reload */
  systick[2] = 0;
  systick[0] = 5; /* the processor's clock, no interrupt */
}

uint32_t ticks(void) { return 0xffffffu - *(volatile uint32_t *)0xe000e018u; }

static void end(int code)
{
  const uint32_t reason[2] = {0x20026u, (uint32_t)code};
  semihosting(0x20, reason);
  for (;;) {
  }
}

void finish(void) { end(0); }

static void fault(void) { end(99); }

static void reset(void)
{
  uint32_t *to, *from = &data_in_flash;
  *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* the float unit */
  __asm__ volatile("dsb\n isb");
  for (to = &data_begin; to < &data_end; ++to) *to = *from++;
  for (to = &bss_begin; to < &bss_end; ++to) *to = 0;
  end(main());
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
  (void (*)(void)) & stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};
