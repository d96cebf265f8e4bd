import { statSync } from 'node:fs'

/** What can be read there tells of the host, of its other users or of the kernel's memory. */
const MASKED_FILES = [
  '/proc/kcore',
  '/proc/kallsyms',
  '/proc/keys',
  '/proc/key-users',
  '/proc/kmsg',
  '/proc/latency_stats',
  '/proc/sched_debug',
  '/proc/sysrq-trigger',
  '/proc/timer_list',
  '/proc/interrupts',
]
const MASKED_DIRECTORIES = ['/proc/acpi', '/proc/asound', '/proc/scsi']

/** Programs read these; nothing inside may write them, also not what belongs to its own namespaces. */
const READ_ONLY = ['/proc/sys']

/** For "other users" at least one of read and write. */
const OTHERS = 0o006

/** Those that matter on this kernel. */
export interface KernelInterfaces {
  readonly maskedFiles: readonly string[]
  readonly maskedDirectories: readonly string[]
  readonly readOnly: readonly string[]
}

let found: KernelInterfaces | null = null

/**
 * The host's root owns them all, and its id does not exist in the sandbox's user namespace: what is closed to other
 * users is closed to everybody inside. Only the rest is masked, since every mask is a mount at each start.
 */
export function kernelInterfaces(): KernelInterfaces {
  const isOpen = (path: string): boolean => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) !== 0
  found ??= {
    maskedFiles: MASKED_FILES.filter(isOpen),
    maskedDirectories: MASKED_DIRECTORIES.filter(isOpen),
    readOnly: READ_ONLY.filter(isOpen),
  }
  return found
}
