import type { HostFacts } from '../../host/facts.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { Accelerator } from './accelerator.ts'
import { confine, descriptorPath } from './confinement.ts'
import type { Initramfs } from './initramfs.ts'
import type { Kernel } from './kernel.ts'
import { machineArguments, memoryMebibytes, TRANSLATION_CACHE_MIB } from './machine-arguments.ts'
import type { Qemu } from './qemu.ts'

/** What every machine of this host is started with. */
export interface MachineParts {
  readonly qemu: Qemu
  readonly kernel: Kernel
  readonly initramfs: Initramfs
  readonly accelerator: Accelerator
}

export interface MachineSpecification {
  /** Read-only. */
  readonly base: string
  /** Writable, and the user of `idBase` must be able to write it. */
  readonly upper: string
  readonly memoryBytes: number
  readonly cpus: number
  readonly pids: number
  readonly idBase: number | null
}

const MiB = 1024 * 1024
const DESCRIPTORS = { kernel: 3, initramfs: 4, base: 5, upper: 6 } as const
/** QEMU itself, its buffers, the page tables; under emulation the translated code comes on top. */
const OVERHEAD_MIB = 128
/** QEMU's own threads beside one per processor: main loop, block workers, confinement. */
const QEMU_THREADS = 80
/** Whole processors limit themselves; this is for QEMU's own thread, which moves the bytes of disks and link. */
const DEVICE_CPUS = 0.5
const IDS = 65_536

/** How one machine is started: QEMU, confined, with its files as open descriptors. */
export function machinePlan(parts: MachineParts, specification: MachineSpecification, facts: HostFacts): LaunchPlan {
  const { accelerator } = parts
  const { idBase } = specification
  const processors = Math.max(1, Math.min(Math.ceil(specification.cpus), facts.cores))
  const command = machineArguments(parts.qemu, {
    kernel: descriptorPath(DESCRIPTORS.kernel),
    initramfs: descriptorPath(DESCRIPTORS.initramfs),
    base: descriptorPath(DESCRIPTORS.base),
    upper: descriptorPath(DESCRIPTORS.upper),
    memoryBytes: specification.memoryBytes,
    processors,
    pids: specification.pids,
    accelerator,
  })
  // A user namespace cannot keep the group that KVM is given to, so there the user is changed instead.
  const group = accelerator.kind === 'kvm' ? accelerator.group : null
  const identity = idBase === null || group === null ? null : { user: idBase, group }
  const overhead = OVERHEAD_MIB + (accelerator.kind === 'tcg' ? TRANSLATION_CACHE_MIB : 0)
  return {
    argv: confine(parts.qemu, { kvmDevice: accelerator.kind === 'kvm', identity }, command),
    environment: {},
    steps: [],
    userNamespace:
      idBase === null || identity !== null ? null : { base: idBase, count: IDS, enter: true, rootless: false },
    files: [
      { descriptor: DESCRIPTORS.kernel, path: parts.kernel.image },
      { descriptor: DESCRIPTORS.initramfs, path: parts.initramfs.path },
      { descriptor: DESCRIPTORS.base, path: specification.base },
      { descriptor: DESCRIPTORS.upper, path: specification.upper },
    ],
    cleanup: [],
    cgroup: {
      memoryBytes: (memoryMebibytes(specification.memoryBytes) + overhead) * MiB,
      pids: processors + QEMU_THREADS,
      cpus: specification.cpus + (processors === specification.cpus ? DEVICE_CPUS : 0),
    },
  }
}
