/* Runs an exported policy on a target: prints one line per state with the ticks that the call took and the action's bits.
 *
 * trial_states.h holds the states; the target's own file gives `put_text`, `ticks` and the end. */
#include <stdint.h>
#include <string.h>

#include "trial.h"
#include "trial_states.h"

static void put_hex(uint32_t value)
{
  char text[10];
  int i;
  for (i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15u];
  text[8] = ' ';
  text[9] = 0;
  put_text(text);
}

static void nothing(const trial_real *state, trial_real *action)
{
  action[0] = state[0];
}

/* Not inlined and not known to the compiler: every policy is called in the same way. */
static uint32_t timed(void (*volatile act)(const trial_real *, trial_real *), const trial_real *state, trial_real *action)
{
  void (*const call)(const trial_real *, trial_real *) = act;
  const uint32_t before = ticks();
  call(state, action);
  return ticks() - before;
}

int main(void)
{
  unsigned i, j;
  start_ticks();
  for (i = 0; i < TRIAL_STATES; ++i) {
    trial_real state[TRIAL_WIDTH], action[TRIAL_ACTIONS];
    uint32_t words[sizeof action / 4], empty, full;
    read_state(state, trial_states[i]);
    empty = timed(nothing, state, action);
    full = timed(TRIAL_ACT, state, action);
    memcpy(words, action, sizeof action);
    put_hex(full - empty);
    for (j = 0; j < sizeof action / 4; ++j) put_hex(words[j]);
    put_text("\n");
  }
  finish();
  return 0;
}
