import { HearthError, type CreateSandbox } from '@hearth/contract'
import type { Caller, ControlPlane } from '../../../control-plane.ts'

/** E2B's own templates and what is closest to them here. */
const KNOWN: Readonly<Record<string, string | null>> = {
  base: null,
  'code-interpreter-v1': 'code-interpreter',
}

/** Where the files of a new sandbox come from: a template of Hearth, an image, or a snapshot by its identifier or name. */
export async function rootOf(
  plane: ControlPlane,
  caller: Caller,
  templateId: string,
): Promise<Pick<CreateSandbox, 'template' | 'from'>> {
  const known = KNOWN[templateId.replace(/:default$/, '')]
  if (known === null) return {}
  if (known !== undefined) return { template: known }
  const snapshot = snapshotOf(templateId)
  if (snapshot === null) return { template: templateId }
  try {
    return { from: (await plane.snapshots.get(caller, snapshot)).id }
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'snapshot_not_found') throw error
    if (snapshot.startsWith('sn_')) throw new HearthError('template_not_found', `template '${templateId}' not found`)
    return { template: templateId }
  }
}

/** `namespace/name:default` as Hearth names a snapshot; null for what cannot be one. */
export function snapshotOf(templateId: string): string | null {
  const [, name] = /^(?:[a-z0-9_-]+\/)?([a-z0-9][a-z0-9._-]{0,62})(?::default)?$/.exec(templateId.toLowerCase()) ?? []
  return name ?? null
}
