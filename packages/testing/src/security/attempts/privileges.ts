import type { Attempt } from '../attempt.ts'

const needsRoot: NonNullable<Attempt['controlObstacle']> = (stage) => (stage.isRoot ? null : 'needs root')

function kernel(name: string, body: string): Attempt {
  return { name, body, aim: 'kernel', controlObstacle: needsRoot }
}

/** Ways to more rights on the kernel that the host runs on: mounts, namespaces, devices, setuid. */
export const PRIVILEGES: readonly Attempt[] = [
  kernel(
    'mount a file system',
    `
import tempfile
target = tempfile.mkdtemp()
call(165, b"none", target.encode(), b"tmpfs", 0, None)
call(166, target.encode(), 0)
return target`,
  ),
  kernel(
    'bind a directory elsewhere',
    `
import tempfile
target = tempfile.mkdtemp()
call(165, b"/proc", target.encode(), None, 4096 | 16384, None)
call(166, target.encode(), 2)
return target`,
  ),
  kernel('make a file system with the new calls', 'return reached(430, b"tmpfs", 0)'),
  kernel('clone a mount with the new calls', 'return reached(428, -100, b"/", 1)'),
  kernel('a new user namespace', 'return call(272, 0x10000000)'),
  kernel('a new mount namespace', 'return call(272, 0x00020000)'),
  kernel('a new network namespace', 'return call(272, 0x40000000)'),
  kernel(
    'a process in a new user namespace',
    `
pid = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
os.waitpid(pid, 0)
return pid`,
  ),
  kernel(
    'a process in a new user namespace by clone3',
    `
arguments = struct.pack("11Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
pid = call(435, arguments, len(arguments))
if pid == 0: os._exit(0)
os.waitpid(pid, 0)
return pid`,
  ),
  kernel('join a namespace', 'return call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0)'),
  kernel(
    'make a device',
    `
import tempfile
path = tempfile.mkdtemp() + "/full"
os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
return os.read(os.open(path, os.O_RDONLY), 1)`,
  ),
  kernel(
    'read memory or a disk by a device file',
    `
for name in os.listdir("/dev"):
    path = "/dev/" + name
    if name in ("mem", "kmem", "port", "kmsg", "nvram") or (os.path.exists(path) and stat.S_ISBLK(os.stat(path).st_mode)):
        try: return path, os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError: pass
raise OSError("none")`,
  ),
  kernel(
    'a setuid program gives root',
    `
import shutil, subprocess, tempfile
directory = tempfile.mkdtemp(dir="/var/tmp")
os.chmod(directory, 0o755)
program = directory + "/id"
shutil.copy("/usr/bin/id", program)
os.chmod(program, 0o4755)
def lower():
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try: found = subprocess.run([program, "-u"], preexec_fn=lower, capture_output=True, text=True).stdout.strip()
except subprocess.SubprocessError as error: raise OSError(str(error))
finally: shutil.rmtree(directory)
if found != "0": raise OSError("effective user " + found)
return found`,
  ),
  kernel(
    'a process without the no-new-privileges bit or a filter',
    `
status = open("/proc/self/status").read()
if "NoNewPrivs:\\t1" in status and "Seccomp:\\t2" in status: raise OSError("both are set")
return status[-300:]`,
  ),
  kernel(
    'capabilities over the host',
    `
lines = [line for line in open("/proc/self/status") if line.startswith(("CapPrm", "CapEff", "CapInh", "CapAmb"))]
held = 0
for line in lines: held |= int(line.split()[1], 16)
dangerous = {"sys_module": 16, "sys_rawio": 17, "sys_ptrace": 19, "sys_admin": 21, "sys_boot": 22, "sys_time": 25, "mknod": 27, "syslog": 34, "bpf": 39, "dac_read_search": 2, "net_admin": 12}
found = [name for name, bit in dangerous.items() if held >> bit & 1]
if not found: raise OSError("none")
return found`,
  ),
]
