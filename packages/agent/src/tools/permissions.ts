import type { PermissionRule } from '@hearth/contract'
import { matchesName } from '../glob.ts'

/**
 * What a tool may do. The last rule that fits counts; without one, everything is allowed, since the sandbox is the boundary.
 * A rule about paths says nothing about what `bash` does to them.
 */
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
