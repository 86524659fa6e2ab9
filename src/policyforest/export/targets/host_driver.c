/* Calls an exported policy many times: to compare it with Python, and to time it.
 *
 * The policy lives in a shared library of its own, so all of it (code and tables) can be thrown out of the caches. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void (*act_float)(const float *, float *);
typedef void (*act_double)(const double *, double *);

/* How one kind of policy is called: `bytes` is the size of its numbers. */
static void call(void *act, int bytes, const char *state, char *action)
{
  if (bytes == 4)
    ((act_float)act)((const float *)(const void *)state, (float *)(void *)action);
  else
    ((act_double)act)((const double *)(const void *)state, (double *)(void *)action);
}

static double seconds(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* n rows of states into n rows of actions. */
void act_many(void *act, int bytes, long n, int n_states, int n_actions, const char *states, char *actions)
{
  long i;
  for (i = 0; i < n; ++i)
    call(act, bytes, states + i * n_states * bytes, actions + i * n_actions * bytes);
}

/* Seconds per call over one pass through the states: of this thread alone, other programs do not count. */
double time_many(void *act, int bytes, long n, int n_states, const char *states, char *action)
{
  const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
  long i;
  for (i = 0; i < n; ++i) call(act, bytes, states + i * n_states * bytes, action);
  return (seconds(CLOCK_THREAD_CPUTIME_ID) - begin) / (double)n;
}

typedef struct {
  uintptr_t inside;
  long flushed;
} search;

static void flush(const char *begin, const char *end)
{
  const char *line;
  for (line = begin; line < end; line += 64) {
#if defined(__x86_64__)
    __builtin_ia32_clflush(line);
#elif defined(__aarch64__)
    __asm__ volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
  }
}

static int flush_object(struct dl_phdr_info *info, size_t size, void *data)
{
  search *wanted = data;
  int i, holds = 0;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
    holds |= part->p_type == PT_LOAD && wanted->inside >= begin && wanted->inside < begin + part->p_memsz;
  }
  for (i = 0; holds && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD) continue;
    flush((const char *)(info->dlpi_addr + part->p_vaddr), (const char *)(info->dlpi_addr + part->p_vaddr + part->p_memsz));
    wanted->flushed += (long)part->p_memsz;
  }
  return holds;
}

/* Seconds of single calls, each after all of the policy's library was flushed from the caches.
 * Returns the number of bytes flushed before each; 0 where this processor has no way to do so. */
long time_cold(void *act, int bytes, long n, int n_states, const char *states, char *action, double *result)
{
  search wanted = {(uintptr_t)act, 0};
  long i;
  for (i = 0; i < n; ++i) {
    double begin;
    wanted.flushed = 0;
    dl_iterate_phdr(flush_object, &wanted);
    __sync_synchronize();
    (void)seconds(CLOCK_MONOTONIC); /* the clock itself shall be warm */
    begin = seconds(CLOCK_MONOTONIC);
    call(act, bytes, states + i * n_states * bytes, action);
    result[i] = seconds(CLOCK_MONOTONIC) - begin;
  }
#if defined(__x86_64__) || defined(__aarch64__)
  return wanted.flushed;
#else
  return 0;
#endif
}
