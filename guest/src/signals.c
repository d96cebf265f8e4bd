// Signal, Resize, Forget and ListProcesses.
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "answer.h"
#include "link.h"
#include "process.h"
#include "requests.h"

#define SIGNAL_LIMIT 64u
#define SIGNAL_TREE 1u

// Who killed a whole tree is answered when it is gone.
struct waiter {
  struct channel channel;
  struct waiter *next;
  uint32_t process;
};

static struct waiter *waiters;

static void destroy(struct channel *channel) {
  struct waiter *waiter = OWNER(channel, struct waiter, channel);
  for (struct waiter **link = &waiters; *link; link = &(*link)->next) {
    if (*link != waiter) continue;
    *link = waiter->next;
    break;
  }
  free(waiter);
}

void signals_tree_gone(uint32_t process) {
  for (struct waiter *waiter = waiters, *next; waiter; waiter = next) {
    next = waiter->next;
    if (waiter->process != process) continue;
    uint32_t id = waiter->channel.id;
    channel_end(&waiter->channel);
    answer_done(id, 0);
  }
}

static void kill_tree(uint32_t channel, struct process *process) {
  static const struct channel_kind kind = {.destroy = destroy};
  struct waiter *waiter = calloc(1, sizeof *waiter);
  if (!waiter) return answer_failed(channel, ENOMEM, "signal");
  waiter->process = process->number;
  waiter->next = waiters;
  waiters = waiter;
  if (channel_open(&waiter->channel, channel, &kind)) process_kill_tree(process);
}

static void signal_group(uint32_t channel, struct process *process, int number) {
  if (process->state != PROCESS_RUNNING) return answer_failed(channel, ESRCH, "process %u", process->number);
  if (kill(-process->pid, number) != 0) return answer_failed(channel, errno, "process %u", process->number);
  answer_done(channel, 0);
}

void serve_signal(uint32_t channel, const struct message_signal *message) {
  struct process *process = process_find(message->process);
  if (!process || process->state == PROCESS_STARTING) return answer_failed(channel, ESRCH, "process %u", message->process);
  if (message->signal > SIGNAL_LIMIT) return answer_failed(channel, EINVAL, "signal %u", message->signal);
  if (!(message->flags & SIGNAL_TREE)) return signal_group(channel, process, (int)message->signal);
  if (process->supervisor_gone) return answer_failed(channel, ESRCH, "process %u", message->process);
  if (message->signal == SIGKILL) return kill_tree(channel, process);
  process_signal_tree(process, (int)message->signal);
  answer_done(channel, 0);
}

void serve_resize(uint32_t channel, const struct message_resize *message) {
  struct process *process = process_find(message->process);
  if (!process) return answer_failed(channel, ESRCH, "process %u", message->process);
  if (!process->terminal || process->output.fd < 0) return answer_failed(channel, ENOTTY, "process %u", message->process);
  struct winsize size = {.ws_row = message->rows, .ws_col = message->cols};
  if (ioctl(process->output.fd, TIOCSWINSZ, &size) != 0) return answer_failed(channel, errno, "process %u", message->process);
  // Linux tells the foreground; gVisor tells nobody and does not know the foreground either. Whoever does not wait for it ignores it.
  if (tcgetpgrp(process->output.fd) < 0) process_signal_tree(process, SIGWINCH);
  answer_done(channel, 0);
}

void serve_forget(uint32_t channel, const struct message_forget *message) {
  struct process *process = process_find(message->process);
  if (!process) return answer_failed(channel, ESRCH, "process %u", message->process);
  if (process->state != PROCESS_ENDED) return answer_failed(channel, EBUSY, "process %u", message->process);
  process_forget(process);
  answer_done(channel, 0);
}
