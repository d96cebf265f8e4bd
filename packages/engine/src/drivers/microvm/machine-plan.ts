import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { HostFacts } from '../../host/facts.ts'
import type { AttachedVolume } from '../driver.ts'
import type { InheritedFile, LaunchPlan, Step } from '../launch-plan.ts'
import type { Accelerator } from './accelerator.ts'
import { confine } from './confinement.ts'
import { CONTROL_SOCKET } from './control-socket.ts'
import type { Initramfs } from './initramfs.ts'
import type { Kernel } from './kernel.ts'
import { DESCRIPTORS, machineArguments, memoryMebibytes, TRANSLATION_CACHE_MIB } from './machine-arguments.ts'
import type { Qemu } from './qemu.ts'
import { serveVolumes, unservedVolumes, type VolumeService } from './served-volumes.ts'

/** What every machine of this host is started with. */
export interface MachineParts {
  readonly qemu: Qemu
  readonly kernel: Kernel
  readonly initramfs: Initramfs
  readonly accelerator: Accelerator
  /** The guest's program, which serves volumes too. */
  readonly guest: string
  readonly cache: string
}

export interface MachineSpecification {
  /** The sandbox's own. */
  readonly directory: string
  /** Read-only. */
  readonly base: string
  /** The writable disk; the file `from` is copied there when it is not null. */
  readonly upper: { readonly path: string; readonly from: string | null }
  /** The file whose private copy is the machine's memory; null where QEMU cannot have it for reading only. */
  readonly memory: string | null
  readonly start:
    | { readonly kind: 'boot'; readonly pids: number }
    | { readonly kind: 'restore'; readonly state: string }
  /** Null: it is a machine without the port for them, which none can be given. */
  readonly volumes: readonly AttachedVolume[] | null
  readonly memoryBytes: number
  readonly cpus: number
  readonly idBase: number | null
}

const MiB = 1024 * 1024
/** QEMU itself, its buffers, the page tables; under emulation the translated code comes on top. */
const OVERHEAD_MIB = 128
/** QEMU's own threads beside one per processor: main loop, block workers, confinement. */
const QEMU_THREADS = 80
/** Whole processors limit themselves; this is for QEMU's own thread, which moves the bytes of disks and link. */
const DEVICE_CPUS = 0.5
const IDS = 65_536
/** The file in the sandbox's directory that QEMU saves the state of its devices to. */
export const SAVED_STATE = 'state'

export function processorsOf(cpus: number, facts: HostFacts): number {
  return Math.max(1, Math.min(Math.ceil(cpus), facts.cores))
}

/** How one machine is started: QEMU, confined, with its files as open descriptors. */
export async function machinePlan(
  parts: MachineParts,
  specification: MachineSpecification,
  facts: HostFacts,
): Promise<LaunchPlan> {
  const { accelerator } = parts
  const { idBase, memoryBytes, start, volumes } = specification
  const processors = processorsOf(specification.cpus, facts)
  const capturable = specification.memory !== null
  const has = volumes === null ? 'none' : volumes.length === 0 ? 'unserved' : 'served'
  const shape = { memoryBytes, processors, accelerator, capturable, start, volumes: has } as const
  const command = machineArguments(parts.qemu, shape)
  // A user namespace cannot keep the group that KVM is given to, so there the user is changed instead.
  const group = accelerator.kind === 'kvm' ? accelerator.group : null
  const identity = idBase === null || group === null ? null : { user: idBase, group }
  const overhead = OVERHEAD_MIB + (accelerator.kind === 'tcg' ? TRANSLATION_CACHE_MIB : 0)
  const entered = identity === null
  const [service] = await Promise.all([
    serviceOf(parts, specification, entered),
    capturable ? makeSavedState(specification) : null,
  ])
  return {
    argv: [...service.argv, ...confine(parts.qemu, { kvmDevice: accelerator.kind === 'kvm', identity }, command)],
    environment: {},
    steps: [...steps(specification), ...service.steps],
    // Where it is not entered it is there for the mounts of volumes, which have its ids.
    userNamespace:
      idBase === null || (!entered && has !== 'served')
        ? null
        : { base: idBase, count: IDS, enter: entered, rootless: false },
    files: [...files(parts, specification), ...service.files],
    cleanup: [],
    restored: start.kind === 'restore',
    cgroup: {
      memoryBytes: (memoryMebibytes(memoryBytes) + overhead) * MiB,
      pids: processors + QEMU_THREADS,
      cpus: specification.cpus + (processors === specification.cpus ? DEVICE_CPUS : 0),
    },
  }
}

async function serviceOf(
  { guest, cache }: MachineParts,
  { directory, idBase, volumes }: MachineSpecification,
  entered: boolean,
): Promise<VolumeService> {
  if (volumes === null) return { steps: [], files: [], argv: [] }
  if (volumes.length === 0) return await unservedVolumes(cache)
  if (idBase === null) throw new HearthError('capability_unsupported', 'only root can give files to others than itself')
  return await serveVolumes(volumes, { directory, guest, idBase, entered })
}

/** It is opened by QEMU's own user, each time anew. */
async function makeSavedState({ directory, idBase }: MachineSpecification): Promise<void> {
  const path = join(directory, SAVED_STATE)
  await writeFile(path, '', { mode: 0o600 })
  if (idBase !== null) await chown(path, idBase, idBase)
}

function steps({ upper, idBase }: MachineSpecification): Step[] {
  return [
    ...(upper.from === null ? [] : [{ kind: 'copy', source: upper.from, path: upper.path } as const]),
    ...(idBase === null ? [] : [{ kind: 'chown', path: upper.path, uid: idBase, gid: idBase } as const]),
  ]
}

function files(parts: MachineParts, specification: MachineSpecification): InheritedFile[] {
  const { start, memory, base, upper, directory } = specification
  const boot: InheritedFile[] = [
    { descriptor: DESCRIPTORS.kernel, path: parts.kernel.image },
    { descriptor: DESCRIPTORS.initramfs, path: parts.initramfs.path },
  ]
  const disks: InheritedFile[] = [
    { descriptor: DESCRIPTORS.base, path: base },
    { descriptor: DESCRIPTORS.upper, path: upper.path, kind: 'late' },
  ]
  const capture: InheritedFile[] =
    memory === null
      ? []
      : [
          { descriptor: DESCRIPTORS.memory, path: memory },
          { descriptor: DESCRIPTORS.saved, path: join(directory, SAVED_STATE) },
          { descriptor: DESCRIPTORS.control, path: CONTROL_SOCKET, kind: 'socket' },
        ]
  const begin = start.kind === 'boot' ? boot : [{ descriptor: DESCRIPTORS.state, path: start.state }]
  return [...begin, ...disks, ...capture]
}
