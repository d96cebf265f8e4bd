import { HearthError, parseInput, snapshotNameSchema } from '@hearth/contract'

export const DEFAULT_TAG = 'default'

export interface TemplateName {
  readonly name: string
  /** Null when none was given. */
  readonly tag: string | null
}

/** `namespace/name:tag` in its parts; the namespace is the tenant's own and says nothing. Null for what cannot be one. */
export function parseTemplateName(text: string): TemplateName | null {
  const match = /^(?:[a-z0-9_-]+\/)?([a-z0-9][a-z0-9._-]{0,62})(?::([a-z0-9._-]{1,64}))?$/.exec(text.toLowerCase())
  return match?.[1] === undefined ? null : { name: match[1], tag: match[2] ?? null }
}

export function requireTemplateName(text: string): TemplateName {
  const parsed = parseTemplateName(text)
  if (parsed === null) throw new HearthError('invalid_request', `name: ${text.slice(0, 128)} is no name of a template`)
  parseInput(snapshotNameSchema, parsed.name, 'name')
  return parsed
}

export function requireTags(tags: readonly string[]): string[] {
  return tags.map((tag) => {
    const parsed = parseTemplateName(`x:${tag}`)?.tag ?? null
    if (parsed === null) throw new HearthError('invalid_request', `tags: ${tag.slice(0, 64)} is no tag`)
    return parsed
  })
}
