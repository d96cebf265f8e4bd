/* A guest that lies. Outside (`keeper` and the like) it is the real program; inside it behaves as BEHAVIOUR says. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>

enum { HELLO = 1, WELCOME = 2, CONFIGURE = 3, PING = 4, PONG = 5, DONE = 8, DATA = 10, SPAWN = 20, SPAWNED = 21, OUTPUT = 22, EXITED = 23, STAT = 40, ENTRY = 41, LIST = 42, READ = 43 };

static unsigned char payload[131072];

static void whole_write(const void *bytes, size_t count) {
    const char *from = bytes;
    while (count > 0) {
        ssize_t done = write(1, from, count);
        if (done <= 0) { sleep(1); continue; }
        from += done;
        count -= (size_t)done;
    }
}

static void send_frame(uint8_t type, uint32_t channel, const void *bytes, uint32_t length) {
    unsigned char header[12] = {0};
    memcpy(header, &length, 4);
    header[4] = type;
    memcpy(header + 8, &channel, 4);
    whole_write(header, 12);
    whole_write(bytes, length);
}

static int whole_read(void *bytes, size_t count) {
    char *to = bytes;
    while (count > 0) {
        ssize_t done = read(0, to, count);
        if (done <= 0) return 0;
        to += done;
        count -= (size_t)done;
    }
    return 1;
}

static void forever(void) {
    for (;;) pause();
}

static void welcome(uint32_t length, int lie) {
    unsigned char answer[256] = {0};
    uint32_t nonce = length - 4;
    memcpy(answer, payload, length);
    if (lie) answer[10] ^= 1;
    send_frame(WELCOME, 0, answer, 4 + nonce + 16);
}

static void flood(uint8_t type, uint32_t channel) {
    static unsigned char junk[65536];
    for (;;) send_frame(type, channel, junk, sizeof junk);
}

/* Before the session: what it does instead of greeting. */
static void before_hello(void) {
#if BEHAVIOUR == 1 /* garbage */
    for (int i = 0; i < 65536; i++) payload[i] = (unsigned char)(rand() | 1);
    whole_write(payload, 65536);
    forever();
#elif BEHAVIOUR == 2 /* silent */
    forever();
#elif BEHAVIOUR == 3 /* floods before the greeting */
    flood(DATA, 5);
#elif BEHAVIOUR == 4 /* exits at once */
    _exit(3);
#elif BEHAVIOUR == 5 /* a frame longer than allowed */
    uint32_t header[3] = {0x7fffffff, WELCOME, 0};
    whole_write(header, 12);
    forever();
#elif BEHAVIOUR == 6 /* half a header, then gone */
    whole_write("\1\0\0", 3);
    _exit(0);
#elif BEHAVIOUR == 7 /* closes its stream and stays */
    close(0);
    close(1);
    forever();
#endif
}

static void spawned(uint32_t channel) {
    uint32_t answer[4] = {1, 100, 0, 0};
    send_frame(SPAWNED, channel, answer, 16);
}

static void output(uint32_t channel, uint64_t offset, uint32_t bytes) {
    memset(payload, 'x', sizeof payload);
    payload[0] = 1;
    memcpy(payload + 1, &offset, 8);
    send_frame(OUTPUT, channel, payload, 9 + bytes);
}

/* What it does when a command is asked for. */
static void on_spawn(uint32_t channel) {
#if BEHAVIOUR == 20 /* more than was granted */
    spawned(channel);
    for (uint64_t offset = 0; offset < (64 << 20); offset += 100000) output(channel, offset, 100000);
#elif BEHAVIOUR == 21 /* a payload too short for its fields */
    send_frame(SPAWNED, channel, "x", 1);
#elif BEHAVIOUR == 22 /* offsets that go back */
    spawned(channel);
    output(channel, 1000, 100);
    output(channel, 3, 100);
#elif BEHAVIOUR == 23 /* a message that does not exist */
    send_frame(200, channel, "", 0);
#elif BEHAVIOUR == 24 /* data on a channel that nobody opened */
    for (int i = 0; i < 1000; i++) send_frame(DATA, 0x7ffffff0, payload, 60000);
#elif BEHAVIOUR == 25 /* an end that cannot be */
    uint32_t exited[11] = {7, 9999, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0};
    spawned(channel);
    send_frame(EXITED, channel, exited, 36);
#elif BEHAVIOUR == 26 /* a final message twice */
    unsigned char done[8] = {0};
    for (int i = 0; i < 1000; i++) send_frame(DONE, channel, done, 8);
#elif BEHAVIOUR == 27 /* dies in the middle of a frame */
    whole_write("\xff\0\0\0\x16", 5);
    _exit(1);
#elif BEHAVIOUR == 28 /* the reserved bytes are not zero */
    unsigned char header[12] = {0, 0, 0, 0, DONE, 1, 2, 3, 1, 0, 0, 0};
    whole_write(header, 12);
#elif BEHAVIOUR == 29 /* welcomes again and again */
    for (int i = 0; i < 100; i++) send_frame(WELCOME, 0, payload, 40);
#elif BEHAVIOUR == 30 /* pongs that nobody asked for */
    flood(PONG, 0);
#elif BEHAVIOUR == 31 /* answers a command with a file */
    flood(ENTRY, channel);
#else
    (void)channel;
#endif
}

int main(int count, char **arguments) {
    if (count > 1) {
        arguments[0] = REAL_GUEST;
        execv(REAL_GUEST, arguments);
        _exit(127);
    }
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
#if BEHAVIOUR == 8 /* children that have gone away from it */
    for (int i = 0; i < 20; i++)
        if (fork() == 0) { setsid(); if (fork() == 0) { setsid(); close(0); close(1); close(2); forever(); } _exit(0); }
#endif
    before_hello();
    for (;;) {
        unsigned char header[12];
        uint32_t length, channel;
        if (!whole_read(header, 12)) forever();
        memcpy(&length, header, 4);
        memcpy(&channel, header + 8, 4);
        if (length > sizeof payload || !whole_read(payload, length)) forever();
        static const unsigned char zero[8];
        if (header[4] == HELLO) welcome(length, BEHAVIOUR == 9);
        if (header[4] == CONFIGURE) send_frame(DONE, channel, zero, 8);
        if (header[4] == SPAWN) on_spawn(channel);
    }
}
