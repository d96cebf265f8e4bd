#define _GNU_SOURCE
#include "signals.h"
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int keeper_signals_open(void) {
  sigset_t set;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (sigprocmask(SIG_SETMASK, &set, NULL) != 0) return -1;
  return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

bool keeper_signals_take(int signals) {
  struct signalfd_siginfo information;
  bool told_to_end = false;
  while (read(signals, &information, sizeof information) == (ssize_t)sizeof information)
    if (information.ssi_signo != SIGCHLD) told_to_end = true;
  return told_to_end;
}

void keeper_signals_reset(void) {
  sigset_t none;
  signal(SIGPIPE, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}
