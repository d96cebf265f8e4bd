import type { Attempt } from '../attempt.ts'
import { digestOf, reversed } from '../stage.ts'

/** Files, processes and memory of the host. */
export const HOST_THINGS: readonly Attempt[] = [
  {
    name: 'read a file of the host',
    aim: 'host',
    parameters: (stage) => [stage.secretFile],
    body: 'return open(argv[0]).read()',
  },
  {
    name: 'write a file of the host',
    aim: 'host',
    parameters: (stage) => [stage.directory],
    happened: (stage) => stage.written,
    body: 'os.makedirs(argv[0], exist_ok=True)\nopen(argv[0] + "/written", "w").close()',
  },
  {
    name: "read the host's password hashes",
    aim: 'host',
    parameters: () => [digestOf('/etc/shadow')],
    controlObstacle: (stage) => (stage.isRoot ? null : 'needs root'),
    body: `
import hashlib
content = open("/etc/shadow", "rb").read()
if hashlib.sha256(content).hexdigest() != argv[0]: raise OSError("another file")
return "the same file"`,
  },
  {
    name: 'reach a file of the host through the roots, directories and descriptors of processes',
    aim: 'host',
    parameters: (stage) => [stage.secretFile, stage.reversedSecret],
    body: `
ways = []
for pid in pids() + ["self", "thread-self"]:
    ways += ["/proc/%s/root" % pid, "/proc/%s/cwd" % pid]
    try: ways += ["/proc/%s/fd/%s" % (pid, name) for name in os.listdir("/proc/%s/fd" % pid)]
    except OSError: pass
for way in ways:
    for climb in ("", "/..", "/../../..", "/../../../../../.."):
        for target in (argv[0], "/secret"):
            try:
                if open(way + climb + target).read() == argv[1][::-1]: return way + climb + target
            except OSError: pass
raise OSError("none of %d ways" % len(ways))`,
  },
  {
    name: 'find the secret in the environment or memory of any process',
    aim: 'host',
    parameters: (stage) => [stage.reversedSecret],
    body: `
secret = argv[0][::-1].encode()
for pid in pids():
    try:
        if secret in open("/proc/%s/environ" % pid, "rb").read(): return pid
    except OSError: pass
raise OSError("not found")`,
  },
  {
    name: 'see a process of the host',
    aim: 'host',
    parameters: (stage) => [reversed(stage.keyName)],
    body: `
for pid in pids():
    try:
        if argv[0][::-1].encode() in open("/proc/%s/cmdline" % pid, "rb").read(): return pid
    except OSError: pass
raise OSError("not found")`,
  },
  {
    name: 'signal a process of the host',
    aim: 'host',
    parameters: (stage) => [String(stage.victim)],
    happened: (stage) => stage.signalled,
    body: 'os.kill(int(argv[0]), 10)',
  },
  {
    name: 'trace a process of the host',
    aim: 'host',
    parameters: (stage) => [String(stage.victim), reversed(stage.keyName)],
    body: `
if argv[1][::-1].encode() not in open("/proc/%s/cmdline" % argv[0], "rb").read(): raise OSError("another process")
call(101, 16, int(argv[0]), 0, 0)
os.waitpid(int(argv[0]), 0x40000000)
call(101, 17, int(argv[0]), 0, 0)
return "attached"`,
  },
  {
    name: 'read shared memory of the host',
    aim: 'host',
    parameters: (stage) => [String(stage.memoryKey)],
    body: `
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(int(argv[0]), 0, 0)
if segment < 0: raise OSError(ctypes.get_errno(), "no segment")
return ctypes.string_at(libc.shmat(segment, None, 0o10000), 16)`,
  },
  {
    name: 'read a file in shared memory of the host',
    aim: 'host',
    parameters: (stage) => [stage.sharedFile],
    body: 'return open(argv[0]).read()',
  },
  {
    name: 'find a key of the host',
    aim: 'host',
    parameters: (stage) => [stage.keyName],
    body: `
key = call(250, 10, -4, b"user", argv[0].encode(), 0)
buffer = ctypes.create_string_buffer(64)
length = call(250, 11, key, buffer, 64)
return buffer.raw[:length]`,
  },
]
