import { matchesName } from '../glob.ts'

export const ACTIONS = ['allow', 'ask', 'deny'] as const

/**
 * What a tool may do. The last rule that fits counts; without one, everything is allowed, since the sandbox is the boundary.
 * A rule about paths says nothing about what `bash` does to them.
 */
export interface PermissionRule {
  /** The name of a tool, or `*`. */
  readonly tool: string
  /** The command or path, with `*` for any characters. Default: all. */
  readonly pattern?: string
  readonly action: (typeof ACTIONS)[number]
}

export function permissionFor(
  rules: readonly PermissionRule[],
  tool: string,
  subject: string,
): PermissionRule['action'] {
  const fits = rules.findLast(
    (rule) => matchesName(tool, rule.tool) && (rule.pattern === undefined || matchesName(subject, rule.pattern)),
  )
  return fits?.action ?? 'allow'
}
