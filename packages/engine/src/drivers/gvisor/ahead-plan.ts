import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { DEFAULT_LIMITS } from '@hearth/contract'
import type { HostPaths } from '../../host/host.ts'
import type { Template } from '../../templates/template.ts'
import type { ClaimPlan, LaunchPlan, Step } from '../launch-plan.ts'
import type { RestoreInput } from '../link-runtime.ts'
import { bundleConfig } from '../oci/bundle-config.ts'
import { STATE_BYTES } from '../oci/staged-bundle.ts'
import { mountedParts } from '../staging/host-root.ts'
import { enteredNamespace, GUEST_PATH, stagePath, type StagedRoot } from '../staging/staged-root.ts'
import { makeOnce } from '../staging/write-once.ts'
import { gvisorCgroup, gvisorVariant, imagePath, runscPlan, showImage, type Runsc } from './runsc-plan.ts'

const STAGE = stagePath('/', true)
const AT = {
  root: join(STAGE, 'root'),
  disk: join(STAGE, 'disk'),
  guest: join(STAGE, 'guest'),
  bundle: join(STAGE, 'bundle'),
  state: join(STAGE, 'state'),
  gate: join(STAGE, 'state', 'gate'),
  image: imagePath(STAGE),
} as const
/** Until it gets its own, the root is an empty tmpfs with the places of mounts. */
const ROOT_BYTES = 1024 * 1024
/** What runsc calls the process that serves files. */
const SERVER = 'runsc-gofer'

/** The bundle of sandboxes that are made ahead of time. What is mounted where is all that a checkpoint must find again. */
export interface AheadBundle {
  readonly key: string
  readonly config: string
}

export function aheadBundle(template: Template, paths: HostPaths): AheadBundle {
  const guest = join(AT.guest, basename(paths.guest))
  const staged = { root: AT.root, guest, mounts: template.kind === 'host' ? mountedParts(template) : [], volumes: [] }
  const { seccomp, ...variant } = gvisorVariant(staged, DEFAULT_LIMITS)
  const prestart = { path: guest, args: ['hearth-guest', 'hold', AT.gate] }
  // Names and limits of what runs inside come with the checkpoint.
  const config = JSON.stringify(
    bundleConfig({ staged, hostname: 'ahead', limits: DEFAULT_LIMITS, seccomp, variant: { ...variant, prestart } }),
  )
  return { key: createHash('sha256').update(config).digest('hex').slice(0, 20), config }
}

/** A sandbox that waits, made but for its root and its memory. */
export async function planAhead(
  runsc: Runsc,
  { key, config }: AheadBundle,
  idBase: number,
  paths: HostPaths,
): Promise<LaunchPlan> {
  const bundle = await makeOnce(join(paths.cache, 'gvisor', key), async (temporary) => {
    await mkdir(temporary, { mode: 0o755 })
    await writeFile(join(temporary, 'config.json'), config, { mode: 0o644 })
  })
  const owner = `uid=${idBase},gid=${idBase}`
  const steps: Step[] = [
    ...[STAGE, AT.root, AT.disk, AT.guest, AT.bundle, AT.state, AT.image].map(
      (path) => ({ kind: 'mkdir', path, mode: 0o755 }) as const,
    ),
    { kind: 'bind', source: dirname(paths.guest), target: AT.guest, options: ['ro'] },
    { kind: 'bind', source: bundle, target: AT.bundle, options: ['ro'] },
    { kind: 'tmpfs', target: AT.state, data: `size=${STATE_BYTES},mode=0700,${owner}` },
    { kind: 'tmpfs', target: AT.root, data: `size=${ROOT_BYTES},mode=0755,${owner}` },
    { kind: 'mkdir', path: join(AT.root, 'tmp'), mode: 0o1777 },
    { kind: 'fifo', path: AT.gate },
  ]
  return {
    ...runscPlan(runsc, AT, ['restore', '--image-path', AT.image]),
    steps,
    userNamespace: enteredNamespace(idBase),
    cgroup: null,
    ahead: true,
  }
}

export function planClaim(input: RestoreInput, staged: StagedRoot): ClaimPlan {
  return {
    steps: [...staged.steps, showImage(input, AT.image)],
    server: SERVER,
    root: staged.root,
    binds: [{ source: staged.guest, target: GUEST_PATH }, ...staged.mounts],
    gate: AT.gate,
    cgroup: gvisorCgroup(input.request.limits),
  }
}
