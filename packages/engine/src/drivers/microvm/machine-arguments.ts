import type { Accelerator } from './accelerator.ts'
import type { Qemu } from './qemu.ts'

/** What a machine is made of. The paths are as QEMU sees them, inside its confinement. */
export interface MachineShape {
  readonly kernel: string
  readonly initramfs: string
  readonly base: string
  readonly upper: string
  readonly memoryBytes: number
  readonly processors: number
  readonly pids: number
  readonly accelerator: Accelerator
}

const MiB = 1024 * 1024
/** A kernel with its initial root does not start in less. */
const LEAST_MEMORY_MIB = 96
/** Translated code that is kept under emulation. The default grows with the host's memory, beyond any limit of ours. */
export const TRANSLATION_CACHE_MIB = 128

export function memoryMebibytes(memoryBytes: number): number {
  return Math.max(LEAST_MEMORY_MIB, Math.ceil(memoryBytes / MiB))
}

/** Arguments of QEMU for one machine whose link is descriptor 0. No network, no console, no monitor: nothing but disks and one port. */
export function machineArguments(qemu: Qemu, shape: MachineShape): string[] {
  const parameters = [
    ['-M', 'microvm,isa-serial=off,ioapic2=off,x-option-roms=off', '-bios', qemu.firmware],
    // Without `max` the emulated processor has no deadline timer, and an idle machine ticks 250 times a second. The two features
    // that are taken away make kernel and libc copy byte by byte, which emulation does twice as slowly as by words.
    shape.accelerator.kind === 'kvm'
      ? ['-accel', 'kvm', '-cpu', 'host']
      : ['-accel', `tcg,tb-size=${TRANSLATION_CACHE_MIB}`, '-cpu', 'max,-erms,-fsrm'],
    ['-m', String(memoryMebibytes(shape.memoryBytes)), '-smp', String(shape.processors)],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ['-global', 'virtio-mmio.force-legacy=false'],
    ['-kernel', shape.kernel, '-initrd', shape.initramfs, '-append', commandLine(shape)],
    ['-chardev', 'socket,id=link,fd=0', '-device', 'virtio-serial-device,max_ports=2'],
    ['-device', 'virtserialport,chardev=link,name=hearth'],
    disk('base', shape.base, 'readonly=on'),
    // The upper is as disposable as its machine: what a crash of the host would lose is lost with the machine anyway.
    disk('upper', shape.upper, 'cache=unsafe,discard=unmap'),
    // SAFETY: what a guest that took over QEMU could still ask of the host's kernel.
    ['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
  ]
  return [qemu.program, ...parameters.flat()]
}

function disk(id: string, path: string, options: string): string[] {
  return [
    '-drive',
    `id=${id},if=none,file=${path},format=raw,${options}`,
    '-device',
    `virtio-blk-device,drive=${id},serial=${id}`,
  ]
}

/** The kernel's command line; the words that begin with `hearth.` are the guest's (see guest/protocol.md). */
function commandLine(shape: MachineShape): string {
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
  if (shape.accelerator.kind === 'tcg') {
    const { tscKhz } = shape.accelerator
    // An emulated processor does not speculate, so that there is nothing to mitigate.
    words.push('no_timer_check', 'tsc=reliable', `tsc_early_khz=${tscKhz}`, 'mitigations=off')
  }
  words.push('hearth.base=/dev/vda', 'hearth.basetype=ext4', 'hearth.upper=/dev/vdb', `hearth.pids=${shape.pids}`)
  return words.join(' ')
}
