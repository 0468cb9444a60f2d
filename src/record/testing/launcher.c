// A target for tests of the whole recorder: loads a look-alike of libcuda and launches.
//
//   launcher LIBRARY THREADS LAUNCHES [MILLISECONDS BETWEEN LAUNCHES] [EXIT STATUS]
//
// It begins when the probes are in place, which it sees in its own memory: a breakpoint where the function began (0xcc,
// x86-64), and gives up waiting after ten seconds. Prints the thread ids.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int (*launch_function)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                               void**, void**);
static launch_function launch;
static long launches;
static useconds_t pause_us;

static void* run(void* stream) {
  for (long index = 0; index < launches; ++index) {
    launch((void*)0x1000, 1, 2, 3, 4, 5, 6, 7, stream, NULL, NULL);
    if (pause_us != 0) {
      usleep(pause_us);
    }
  }
  printf("%ld\n", syscall(SYS_gettid));
  return NULL;
}

static int has_breakpoint(void* function) {
#if defined(__x86_64__)
  return *(volatile unsigned char*)function == 0xcc;
#else
  return (*(volatile unsigned*)function & 0xffe0001f) == 0xd4200000; /* brk */
#endif
}

int main(int count, char** arguments) {
  if (count < 4) {
    return 2;
  }
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  launch = (launch_function)dlsym(library, "cuLaunchKernel");
  /* The last function of the table that is probed: when it is, all are. */
  void* last = dlsym(library, "cuStreamWaitEvent_ptsz");
  for (int waited = 0; waited < 10000 && !has_breakpoint(last); ++waited) {
    usleep(1000);
  }
  usleep(20000);
  int threads = atoi(arguments[2]);
  launches = atol(arguments[3]);
  pause_us = count > 4 ? (useconds_t)atol(arguments[4]) * 1000 : 0;
  pthread_t ids[64];
  for (long index = 0; index < threads && index < 64; ++index) {
    pthread_create(&ids[index], NULL, run, (void*)(index + 16));
  }
  for (int index = 0; index < threads && index < 64; ++index) {
    pthread_join(ids[index], NULL);
  }
  return count > 5 ? atoi(arguments[5]) : 0;
}
