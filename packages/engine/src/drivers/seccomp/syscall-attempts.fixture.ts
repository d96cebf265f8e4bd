/**
 * A Python program that makes system calls by number and prints, as JSON, how each ended: `ok` or the name of the errno.
 * It is what the tests run inside a sandbox to see what the filter really does.
 */
export const SYSCALL_ATTEMPTS = String.raw`
import ctypes, errno, json, os, platform, pty, socket, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == 'aarch64'
def call(numbers, *values):
    result = libc.syscall(numbers[1] if ARM else numbers[0], *[ctypes.c_ulong(value) for value in values])
    return 'ok' if result >= 0 else errno.errorcode.get(ctypes.get_errno(), '?')
def make(family, kind, protocol):
    try:
        socket.socket(family, kind, protocol).close()
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
def thread():
    try:
        one = threading.Thread(target=lambda: None)
        one.start()
        one.join()
        return 'ok'
    except RuntimeError:
        return 'no thread'
terminal = pty.openpty()[1]
letter = ctypes.create_string_buffer(b'x')
def ioctl(request):
    return call((16, 29), terminal, request, ctypes.addressof(letter))
print(json.dumps({
    'tcp': make(2, 1, 0), 'tcp6': make(10, 1, 6), 'udp': make(2, 2, 17), 'unix': make(1, 1, 0), 'routes': make(16, 3, 0),
    'audit': make(16, 3, 9), 'packet': make(17, 3, 0), 'vsock': make(40, 1, 0), 'mptcp': make(2, 1, 262), 'sctp': make(2, 1, 132),
    'TIOCSTI': ioctl(0x5412), 'TIOCSTI with a high bit': ioctl(0x100005412), 'TIOCLINUX': ioctl(0x541c),
    'thread': thread(), 'fork': 'ok' if os.system('true') == 0 else 'no fork',
    'user namespace': call((272, 97), 0x10000000), 'own descriptors': call((272, 97), 0x400),
    'namespace by clone': call((56, 220), 0x10000000 | 17, 0, 0, 0, 0),
    'mount': call((165, 40), 0, 0, 0, 0, 0), 'setns': call((308, 268), 0, 0), 'bpf': call((321, 280), 0, 0, 0),
    'keyctl': call((250, 219), 0, 0), 'perf': call((298, 241), 0, 0, 0, 0, 0), 'userfaultfd': call((323, 282), 0),
    'io_uring': call((425, 425), 1, 0), 'handle': call((304, 265), 0, 0, 0), 'unknown': call((999, 999)),
    'trace': call((101, 117), 0, 0, 0, 0),
}))
`

/** What must work everywhere. */
export const ATTEMPTS_THAT_WORK = [
  'tcp',
  'tcp6',
  'udp',
  'unix',
  'routes',
  'thread',
  'fork',
  'own descriptors',
  'trace',
] as const

/** What must fail everywhere, with whatever errno. */
export const ATTEMPTS_THAT_FAIL = [
  'audit',
  'packet',
  'vsock',
  'mptcp',
  'sctp',
  'TIOCSTI',
  'TIOCSTI with a high bit',
  'TIOCLINUX',
  'user namespace',
  'namespace by clone',
  'mount',
  'setns',
  'bpf',
  'keyctl',
  'perf',
  'userfaultfd',
  'io_uring',
  'handle',
  'unknown',
] as const
