import { HearthError, sandboxIdSchema, type SandboxId } from '@hearth/contract'

/** E2B's identifiers are letters and digits alone, since host names are made of them. */
export function toE2bId(id: string): string {
  return id.replace('_', '')
}

/** Null for what cannot be one. Hearth's own spelling is understood as well. */
export function parseE2bId(id: string): SandboxId | null {
  const parsed = sandboxIdSchema.safeParse(/^sb[0-9a-z]{20}$/.test(id) ? `sb_${id.slice(2)}` : id)
  return parsed.success ? parsed.data : null
}

export function fromE2bId(id: string): SandboxId {
  const parsed = parseE2bId(id)
  if (parsed === null) throw new HearthError('sandbox_not_found', `there is no sandbox ${id.slice(0, 64)}`)
  return parsed
}
