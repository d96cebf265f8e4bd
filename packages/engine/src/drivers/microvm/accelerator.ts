import { access, constants, readFile, stat } from 'node:fs/promises'

/** What executes the machine's instructions. */
export type Accelerator =
  | {
      readonly kind: 'kvm'
      /** The group whose members may use it; null when everybody may. */ readonly group: number | null
    }
  | {
      readonly kind: 'tcg'
      /** Rate of the host's time stamp counter, which the guest sees. */ readonly tscKhz: number
    }

const KVM_DEVICE = '/dev/kvm'

/** Why KVM cannot be used, or null when it looks as if it could. Only a boot shows whether it really does. */
export async function kvmObstacle(): Promise<string | null> {
  const flags = /^flags\s*:(.*)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1]?.split(' ') ?? []
  if (!flags.includes('vmx') && !flags.includes('svm')) return 'the processor offers no hardware virtualization here'
  return await access(KVM_DEVICE, constants.R_OK | constants.W_OK).then(
    () => null,
    (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT'
        ? `there is no ${KVM_DEVICE}`
        : `${KVM_DEVICE} may not be opened (is the user in the group kvm?)`,
  )
}

export async function kvm(): Promise<Accelerator> {
  const { mode, gid } = await stat(KVM_DEVICE)
  return { kind: 'kvm', group: (mode & 0o006) === 0o006 ? null : gid }
}

export async function tcg(): Promise<Accelerator> {
  return { kind: 'tcg', tscKhz: await timeStampKhz() }
}

/**
 * Under emulation the kernel's own calibration hangs or fails at random, so it is told the rate. The time stamp counter runs at
 * the nominal clock: exact in a virtual machine, where it is what the kernel shows.
 */
async function timeStampKhz(): Promise<number> {
  const base = await readFile('/sys/devices/system/cpu/cpu0/cpufreq/base_frequency', 'utf8').catch(() => null)
  if (base !== null && Number(base) > 0) return Number(base)
  const information = await readFile('/proc/cpuinfo', 'utf8')
  const nominal = /^model name.*@ ([\d.]+)GHz/m.exec(information)?.[1]
  const virtual = / hypervisor( |$)/m.test(information)
  const current = /^cpu MHz\s*: ([\d.]+)$/m.exec(information)?.[1]
  if (nominal !== undefined && !virtual) return Math.round(Number(nominal) * 1_000_000)
  return Math.round(Number(current ?? 2000) * 1000)
}
