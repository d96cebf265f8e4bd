import { access, constants } from 'node:fs/promises'
import type { RuntimeContext } from '../link-runtime.ts'
import type { Progress } from '../../templates/template.ts'
import { type Accelerator, kvm, kvmObstacle, tcg } from './accelerator.ts'
import { buildInitramfs } from './initramfs.ts'
import { findKernel } from './kernel.ts'
import type { MachineParts } from './machine-plan.ts'
import { MissingPart } from './missing-part.ts'
import { bootOnce } from './probe-boot.ts'
import { findQemu } from './qemu.ts'
import { RememberedBoot } from './remembered-boot.ts'

const TIMEOUT_MS = { kvm: 10_000, tcg: 60_000 } as const

export interface FoundParts extends MachineParts {
  /** Why KVM is not used, or null when it is. */
  readonly obstacle: string | null
}

/**
 * Everything that machines are started with here, after a boot has shown that it works; a boot of the same parts in an earlier process
 * is enough unless it must be `fresh`. Throws MissingPart with the reason and the fix.
 */
export async function findMachineParts(
  context: RuntimeContext,
  progress: Progress,
  fresh: boolean,
): Promise<FoundParts> {
  const { paths } = context
  await access(paths.guest, constants.X_OK).catch(() => {
    throw new MissingPart(`the guest ${paths.guest} is not built`, 'hearth setup')
  })
  const qemu = await findQemu()
  const kernel = await findKernel(paths.cache, progress)
  const initramfs = await buildInitramfs(paths.cache, kernel, paths.guest)
  const obstacle = await kvmObstacle()
  const memory = new RememberedBoot(paths.cache, [
    qemu.program,
    qemu.version,
    kernel.digest,
    initramfs.digest,
    obstacle ?? 'kvm',
    String(context.facts.root),
  ])
  const remembered = fresh ? null : await memory.read()
  if (remembered !== null) {
    const accelerator = remembered === 'kvm' ? await kvm() : await tcg()
    return {
      qemu,
      kernel,
      initramfs,
      accelerator,
      guest: paths.guest,
      cache: paths.cache,
      obstacle: remembered === 'kvm' ? null : (obstacle ?? 'a machine with KVM did not start'),
    }
  }
  progress('starting a microVM to see whether it works')
  const attempt = async (accelerator: Accelerator): Promise<string | null> => {
    const parts = { qemu, kernel, initramfs, accelerator, guest: paths.guest, cache: paths.cache }
    return await bootOnce(parts, context, TIMEOUT_MS[accelerator.kind]).then(
      () => null,
      (error: unknown) => (error as Error).message,
    )
  }
  const found = await choose(obstacle, attempt)
  await memory.write(found.accelerator.kind)
  return { qemu, kernel, initramfs, guest: paths.guest, cache: paths.cache, ...found }
}

/** KVM where a machine really starts with it, emulation otherwise. */
async function choose(
  obstacle: string | null,
  attempt: (accelerator: Accelerator) => Promise<string | null>,
): Promise<{ accelerator: Accelerator; obstacle: string | null }> {
  let reason = obstacle
  if (reason === null) {
    const accelerator = await kvm()
    const failure = await attempt(accelerator)
    if (failure === null) return { accelerator, obstacle: null }
    reason = `a machine with KVM did not start (${failure})`
  }
  const accelerator = await tcg()
  const failure = await attempt(accelerator)
  if (failure !== null) throw new MissingPart(`a microVM did not start: ${failure}`, null)
  return { accelerator, obstacle: reason }
}
