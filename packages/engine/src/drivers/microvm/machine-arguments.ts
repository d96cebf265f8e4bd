import type { Accelerator } from './accelerator.ts'
import { descriptorPath } from './confinement.ts'
import type { Qemu } from './qemu.ts'

/** The numbers under which QEMU finds its files open. */
export const DESCRIPTORS = {
  kernel: 3,
  initramfs: 4,
  base: 5,
  upper: 6,
  memory: 7,
  /** Where the state of its devices goes when it is captured. */
  saved: 8,
  control: 9,
  /** The state of the devices that it goes on from. */
  state: 10,
  /** The stream to whoever serves the volumes. */
  volumes: 11,
  /** The disk on which large answers of that process lie. */
  window: 13,
  /** Not QEMU's: where that process says how many files it holds. */
  held: 12,
} as const

/** What a machine is made of. */
export interface MachineShape {
  readonly memoryBytes: number
  readonly processors: number
  readonly accelerator: Accelerator
  /** Its memory is the private copy of a file, and it is controlled: it can be captured. */
  readonly capturable: boolean
  /** `unserved`: it has the port, and nobody is behind it yet. */
  readonly volumes: 'none' | 'unserved' | 'served'
  /** A kernel that is told how many processes there may be, or the state of a machine that ran before. */
  readonly start: { readonly kind: 'boot'; readonly pids: number } | { readonly kind: 'restore' }
}

const MiB = 1024 * 1024
/** A kernel with its initial root does not start in less. */
const LEAST_MEMORY_MIB = 96
/** Translated code that is kept under emulation. The default grows with the host's memory, beyond any limit of ours. */
export const TRANSLATION_CACHE_MIB = 128

export function memoryMebibytes(memoryBytes: number): number {
  return Math.max(LEAST_MEMORY_MIB, Math.ceil(memoryBytes / MiB))
}

/** Arguments of QEMU for one machine whose link is descriptor 0. No network, no console: nothing but disks and one port. */
export function machineArguments(qemu: Qemu, shape: MachineShape): string[] {
  const memory = shape.capturable ? ',memory-backend=memory,suppress-vmdesc=on' : ''
  const parameters = [
    ['-M', `microvm,isa-serial=off,ioapic2=off,x-option-roms=off${memory}`, '-bios', qemu.firmware],
    // Without `max` the emulated processor has no deadline timer, and an idle machine ticks 250 times a second. The two features
    // that are taken away make kernel and libc copy byte by byte, which emulation does twice as slowly as by words.
    shape.accelerator.kind === 'kvm'
      ? ['-accel', 'kvm', '-cpu', 'host']
      : ['-accel', `tcg,tb-size=${TRANSLATION_CACHE_MIB}`, '-cpu', 'max,-erms,-fsrm'],
    ['-m', String(memoryMebibytes(shape.memoryBytes)), '-smp', String(shape.processors)],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ['-global', 'virtio-mmio.force-legacy=false'],
    start(shape),
    [
      '-chardev',
      'socket,id=link,fd=0',
      '-device',
      `virtio-serial-device,max_ports=${shape.volumes === 'none' ? 2 : 3}`,
    ],
    ['-device', 'virtserialport,chardev=link,name=hearth'],
    volumePort(shape.volumes),
    disk('base', descriptorPath(DESCRIPTORS.base), 'readonly=on'),
    // The upper is as disposable as its machine: what a crash of the host would lose is lost with the machine anyway.
    disk('upper', descriptorPath(DESCRIPTORS.upper), 'cache=unsafe,discard=unmap'),
    // The last, so that it takes the name of none of the others.
    shape.volumes === 'none' ? [] : disk('window', descriptorPath(DESCRIPTORS.window), 'readonly=on'),
    shape.capturable ? capturable(shape.memoryBytes) : [],
    // SAFETY: what a guest that took over QEMU could still ask of the host's kernel.
    ['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ]
  return [qemu.program, ...parameters.flat()]
}

/**
 * The device state that is saved on command has neither a section of settings nor a description at its end, so that none is expected.
 * SAFETY: the memory's file is shared by many machines: QEMU has it for reading only, also should a guest take it over.
 */
function capturable(memoryBytes: number): string[] {
  const size = `size=${memoryMebibytes(memoryBytes)}M`
  const path = `mem-path=${descriptorPath(DESCRIPTORS.memory)}`
  const parameters = [
    ['-object', `memory-backend-file,id=memory,${size},${path},share=off,readonly=on,rom=off`],
    ['-global', 'migration.send-configuration=off'],
    ['-chardev', `socket,id=control,fd=${DESCRIPTORS.control},server=on,wait=off`],
    ['-mon', 'chardev=control,mode=control'],
  ]
  return parameters.flat()
}

function volumePort(volumes: MachineShape['volumes']): string[] {
  if (volumes === 'none') return []
  const behind = volumes === 'served' ? `socket,id=volumes,fd=${DESCRIPTORS.volumes}` : 'null,id=volumes'
  return ['-chardev', behind, '-device', 'virtserialport,chardev=volumes,name=volumes']
}

function start(shape: MachineShape): string[] {
  if (shape.start.kind === 'restore') return ['-incoming', `file:${descriptorPath(DESCRIPTORS.state)}`]
  const { kernel, initramfs } = DESCRIPTORS
  const words = commandLine(shape.accelerator, shape.start.pids, shape.volumes !== 'none')
  return ['-kernel', descriptorPath(kernel), '-initrd', descriptorPath(initramfs), '-append', words]
}

function disk(id: string, path: string, options: string): string[] {
  return [
    '-drive',
    // A host whose disk is full says so to the guest, instead of stopping the machine.
    `id=${id},if=none,file=${path},format=raw,werror=report,rerror=report,${options}`,
    '-device',
    `virtio-blk-device,drive=${id},serial=${id}`,
  ]
}

/** The kernel's command line; the words that begin with `hearth.` are the guest's (see guest/protocol.md). */
function commandLine(accelerator: Accelerator, pids: number, volumes: boolean): string {
  const words = [
    'quiet',
    'loglevel=0',
    'panic=-1',
    'reboot=t',
    'cryptomgr.notests=1',
    'random.trust_cpu=on',
    'ipv6.disable=1',
    'audit=0',
  ]
  if (accelerator.kind === 'tcg') {
    // An emulated processor does not speculate, so that there is nothing to mitigate.
    words.push('no_timer_check', 'tsc=reliable', `tsc_early_khz=${accelerator.tscKhz}`, 'mitigations=off')
  }
  words.push('hearth.base=/dev/vda', 'hearth.basetype=ext4', 'hearth.upper=/dev/vdb', `hearth.pids=${pids}`)
  if (volumes) words.push('hearth.volumes=1')
  return words.join(' ')
}
