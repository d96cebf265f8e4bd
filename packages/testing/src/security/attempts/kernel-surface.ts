import { existsSync } from 'node:fs'
import type { Attempt } from '../attempt.ts'

const needsRoot: NonNullable<Attempt['controlObstacle']> = (stage) => (stage.isRoot ? null : 'needs root')

/** Calls that only an administrator or nobody needs. The arguments are wrong on purpose: nothing happens where they are let through. */
const CALLS: Readonly<Record<string, string>> = {
  'load a program into the kernel (bpf)': 'return reached(321, 0, ctypes.create_string_buffer(128), 128)',
  io_uring: 'return reached(425, 1, ctypes.create_string_buffer(256))',
  userfaultfd: 'return reached(323, 0)',
  'measure other processes (perf)':
    'return reached(298, ctypes.create_string_buffer(b"\\0" * 4 + b"\\x70\\0\\0\\0", 112), -1, 0, -1, 0)',
  'load a module': 'return reached(175, None, 0, b"")',
  'load a module from a file': 'return reached(313, -1, b"", 0)',
  'load another kernel': 'return reached(246, 0, 1000, None, 0)',
  'restart the machine': 'return reached(169, 1, 2, 3, None)',
  'swap on a file': 'return reached(167, b"/no/such/file", 0)',
  'open a file by its handle': 'return reached(304, os.open("/", os.O_RDONLY), struct.pack("IiII", 8, 1, 2, 0), 0)',
  'reach input and output ports': 'return reached(172, 3)',
  "the kernel's log": 'return reached(103, 3, ctypes.create_string_buffer(4096), 4096)',
  'add a key': 'return reached(248, b"user", b"hearth-attempt", b"x", 1, -2)',
  'all keys': 'return reached(250, 0, -4, 0)',
  'change the clock': 'return reached(227, 0, struct.pack("qq", -1, 0))',
  accounting: 'return reached(163, b"/no/such/file")',
  quotas: 'return reached(179, 0x800002 << 8, b"/no/such", 0, None)',
  'the name of the machine': 'return reached(170, None, 1000)',
  'a socket to the hypervisor': 'return socket.socket(40, socket.SOCK_STREAM).fileno()',
  'raw packets': 'return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).fileno()',
  'file events of the whole system (fanotify)': 'return reached(300, 0, 0)',
}

/** Files of the kernel and how they are opened. Opening for writing is as far as it goes. */
const FILES: Readonly<Record<string, 'read' | 'write'>> = {
  '/proc/kcore': 'read',
  '/proc/sysrq-trigger': 'write',
  '/proc/sys/kernel/core_pattern': 'write',
  '/proc/sys/kernel/modprobe': 'write',
  '/proc/sys/kernel/panic': 'write',
  '/proc/sys/vm/drop_caches': 'write',
  '/proc/sys/vm/overcommit_memory': 'write',
  '/proc/irq/0/smp_affinity': 'write',
  '/proc/timer_list': 'read',
  '/proc/keys': 'read',
  '/sys/kernel/mm/transparent_hugepage/enabled': 'write',
  '/sys/kernel/uevent_helper': 'write',
  '/sys/power/state': 'write',
  '/sys/kernel/debug/sched/features': 'read',
  '/sys/firmware/acpi/tables/DSDT': 'read',
  '/dev/mem': 'read',
  '/dev/kmsg': 'read',
  '/dev/fuse': 'read',
  '/dev/loop-control': 'read',
  '/dev/kvm': 'read',
  '/dev/net/tun': 'read',
}

function openFile([path, mode]: [string, 'read' | 'write']): Attempt {
  const flags = mode === 'read' ? 'os.O_RDONLY | os.O_NONBLOCK' : 'os.O_WRONLY'
  const use = mode === 'read' && path.startsWith('/proc') ? 'if not os.read(file, 100): raise OSError("empty")\n' : ''
  return {
    name: `${mode} ${path}`,
    aim: 'kernel',
    body: `file = os.open("${path}", ${flags})\n${use}return file`,
    controlObstacle: (stage) => needsRoot(stage) ?? (existsSync(path) ? null : 'the host does not have this file'),
  }
}

export const KERNEL_SURFACE: readonly Attempt[] = [
  ...Object.entries(CALLS).map(([name, body]): Attempt => ({ name, body, aim: 'kernel', controlObstacle: needsRoot })),
  ...Object.entries(FILES).map(openFile),
  {
    name: 'addresses of the kernel',
    aim: 'kernel',
    controlObstacle: needsRoot,
    body: `
for line in open("/proc/kallsyms"):
    if int(line.split()[0], 16) != 0: return line
raise OSError("all zero")`,
  },
  {
    name: 'write anywhere in the control groups',
    aim: 'kernel',
    controlObstacle: needsRoot,
    body: `
for directory, _, names in os.walk("/sys/fs/cgroup"):
    for name in names:
        if name in ("cgroup.procs", "tasks", "release_agent", "notify_on_release", "memory.limit_in_bytes", "memory.max", "cgroup.kill"):
            try: return directory, os.open(directory + "/" + name, os.O_WRONLY)
            except OSError: pass
raise OSError("none")`,
  },
]
