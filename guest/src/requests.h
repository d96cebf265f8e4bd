// Every request of the host, decoded, to the function that serves it.
// A handler answers on the channel, at once or later; what it needs beyond the call it copies.
#ifndef HEARTH_REQUESTS_H
#define HEARTH_REQUESTS_H
#include "messages.gen.h"

// False when the message is not a request or is malformed.
bool requests_receive(uint8_t type, uint32_t channel, struct slice payload);

void serve_configure(uint32_t channel, const struct message_configure *message);
void serve_spawn(uint32_t channel, const struct message_spawn *message);
void serve_attach(uint32_t channel, const struct message_attach *message);
void serve_signal(uint32_t channel, const struct message_signal *message);
void serve_resize(uint32_t channel, const struct message_resize *message);
void serve_list_processes(uint32_t channel);
void serve_watch_processes(uint32_t channel);
void serve_forget(uint32_t channel, const struct message_forget *message);
void serve_stdin(uint32_t channel, const struct message_stdin *message);
void serve_stat(uint32_t channel, const struct message_stat *message);
void serve_list(uint32_t channel, const struct message_list *message);
void serve_read(uint32_t channel, const struct message_read *message);
void serve_write(uint32_t channel, const struct message_write *message);
void serve_make_directory(uint32_t channel, const struct message_make_directory *message);
void serve_rename(uint32_t channel, const struct message_rename *message);
void serve_remove(uint32_t channel, const struct message_remove *message);
void serve_symlink(uint32_t channel, const struct message_symlink *message);
void serve_change_mode(uint32_t channel, const struct message_change_mode *message);
void serve_watch(uint32_t channel, const struct message_watch *message);
void serve_create_tar(uint32_t channel, const struct message_create_tar *message);
void serve_extract_tar(uint32_t channel, const struct message_extract_tar *message);
void serve_list_changes(uint32_t channel, const struct message_list_changes *message);
void serve_apply_changes(uint32_t channel, const struct message_apply_changes *message);
void serve_connect(uint32_t channel, const struct message_connect *message);
void serve_network(uint32_t channel, const struct message_network *message);
void serve_volumes(uint32_t channel, const struct message_volumes *message);
void serve_statistics(uint32_t channel);
void serve_shutdown(uint32_t channel);
#endif
