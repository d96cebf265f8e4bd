import { join } from 'node:path'
import type { AttachedVolume } from '../driver.ts'
import type { Step } from '../launch-plan.ts'

/** Volumes on the stage, where a runtime that works under the sandbox's ids can come to them. */
export interface StagedVolumes {
  readonly steps: readonly Step[]
  readonly mounts: readonly { readonly source: string; readonly target: string; readonly readOnly: boolean }[]
}

/**
 * What lies on disk belongs to ids from 0 on, whoever has the volume; the mount shows it as the sandbox's own. SAFETY: the place on which it
 * is mounted in the root is made or checked by a step of its own, without following a link.
 */
export function stageVolumes(volumes: readonly AttachedVolume[], stage: string, idBase: number | null): StagedVolumes {
  if (volumes.length === 0) return { steps: [], mounts: [] }
  const directory = join(stage, 'volumes')
  const mounts = volumes.map(({ path, readOnly }, index) => ({
    source: join(directory, String(index)),
    target: path,
    readOnly,
  }))
  const steps = volumes.flatMap(({ files, readOnly }, index): Step[] => {
    const target = join(directory, String(index))
    const mapped = idBase === null ? [] : (['idmap'] as const)
    const options = ['inert', ...(readOnly ? (['ro'] as const) : []), ...mapped] as const
    return [
      { kind: 'mkdir', path: target, mode: 0o755 },
      { kind: 'bind', source: files, target, options },
    ]
  })
  return { steps: [{ kind: 'mkdir', path: directory, mode: 0o755 }, ...steps], mounts }
}
