import { HearthError, type CreateSandbox } from '@hearth/contract'
import type { Caller } from '../../../control-plane.ts'
import type { Builds } from '../../builds/builds.ts'
import { isThere, tagNotFound } from '../builds/tag-routes.ts'
import { DEFAULT_TAG, parseTemplateName, type TemplateName } from '../../builds/template-name.ts'
import type { E2b } from '../e2b.ts'

/** E2B's own templates and what is closest to them here. */
const KNOWN: Readonly<Record<string, string | null>> = {
  base: null,
  'code-interpreter-v1': 'code-interpreter',
}

type Root = Pick<CreateSandbox, 'template' | 'from' | 'user'>

/** Where the files of a new sandbox come from: a template that was built, a snapshot by its identifier or name, a template of Hearth, or an image. */
export async function rootOf(
  { services, builds }: Pick<E2b, 'services' | 'builds'>,
  caller: Caller,
  templateId: string,
): Promise<Root> {
  const known = KNOWN[templateId.replace(/:default$/, '')]
  if (known === null) return {}
  if (known !== undefined) return { template: known }
  const parsed = parseTemplateName(templateId)
  if (parsed === null) return { template: templateId }
  const built = await builds.tagged(caller, parsed.name, parsed.tag ?? DEFAULT_TAG)
  if (built !== null) return { from: built.snapshotId, ...(built.user === null ? {} : { user: built.user }) }
  const snapshot = snapshotOf(templateId)
  if (snapshot === null) return { template: await withoutTag(builds, caller, templateId, parsed) }
  try {
    return { from: (await services.controlPlane.snapshots.get(caller, snapshot)).id }
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'snapshot_not_found') throw error
    if (snapshot.startsWith('sn_')) throw new HearthError('template_not_found', `template '${templateId}' not found`)
    return { template: templateId }
  }
}

/** `name:tag` may be an image, unless a template of that name was built. */
async function withoutTag(
  builds: Builds,
  caller: Caller,
  templateId: string,
  { name, tag }: TemplateName,
): Promise<string> {
  if ((await builds.named(caller, name)).some(isThere)) throw tagNotFound(name, tag ?? DEFAULT_TAG)
  return templateId
}

/** `namespace/name:default` as Hearth names a snapshot; null for what cannot be one. */
export function snapshotOf(templateId: string): string | null {
  const parsed = parseTemplateName(templateId)
  return parsed === null || (parsed.tag ?? DEFAULT_TAG) !== DEFAULT_TAG ? null : parsed.name
}
