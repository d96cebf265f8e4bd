import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Step } from '../launch-plan.ts'
import type { PlanInput, RuntimeContext } from '../link-runtime.ts'
import type { OciSeccomp } from '../seccomp/to-oci-seccomp.ts'
import { stageRoot, type StagedRoot } from '../staging/staged-root.ts'
import { bundleConfig, type BundleVariant } from './bundle-config.ts'

/** Enough for what runtimes write down of one container. */
export const STATE_BYTES = 4 * 1024 * 1024

/** An OCI bundle beside its staged root, seen from where the runtime is executed. */
export interface StagedBundle {
  /** The directory that holds all of this. */
  readonly stage: string
  readonly steps: readonly Step[]
  readonly root: string
  readonly bundle: string
  /** A directory for the runtime's own state. It lives in memory and goes with the keeper, so that nothing is left to delete. */
  readonly state: string
}

/** The runtime is executed as root of the sandbox's user namespace, so the bundle makes none and the stage is its own. */
export async function stageBundle(
  input: PlanInput,
  context: RuntimeContext,
  variant: (staged: StagedRoot) => { readonly seccomp: OciSeccomp } & BundleVariant,
): Promise<StagedBundle> {
  const { request, idBase } = input
  const staged = await stageRoot(input, context)
  const source = join(request.directory, 'bundle')
  // Synchronous: it takes microseconds, the way through the thread pool a good part of a millisecond.
  mkdirSync(source, { mode: 0o755 })
  const { seccomp, ...rest } = variant(staged)
  const config = bundleConfig({ staged, hostname: request.hostname, limits: request.limits, seccomp, variant: rest })
  writeFileSync(join(source, 'config.json'), JSON.stringify(config), { mode: 0o644 })
  const bundle = join(staged.stage, 'bundle')
  const state = join(staged.stage, 'state')
  const owner = idBase ?? 0
  return {
    stage: staged.stage,
    root: staged.root,
    bundle,
    state,
    steps: [
      ...staged.steps,
      { kind: 'mkdir', path: bundle, mode: 0o755 },
      { kind: 'mkdir', path: state, mode: 0o755 },
      { kind: 'bind', source, target: bundle, options: ['ro'] },
      { kind: 'tmpfs', target: state, data: `size=${STATE_BYTES},mode=0700,uid=${owner},gid=${owner}` },
    ],
  }
}
