#include <errno.h>
#include "answer.h"
#include "requests.h"
#include "machine/machine.h"
#include "loop.h"
#define P(n) void serve_##n(uint32_t c, const struct message_##n *m) { (void)m; answer_failed(c, ENOSYS, #n); }
P(list) P(make_directory) P(rename) P(remove) P(symlink) P(change_mode) P(watch) P(create_tar) P(extract_tar) P(connect)
void serve_statistics(uint32_t c) { answer_failed(c, ENOSYS, "statistics"); }
void serve_shutdown(uint32_t c) { (void)c; loop_stop(); }
bool machine_enter(struct machine *m) { (void)m; return true; }
void machine_leave(void) {}
