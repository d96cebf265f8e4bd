import { namePatternSchema } from '@hearth/contract'

/**
 * A name as it is compared: lower case, without the final dot, nothing but letters, digits, dashes and underscores in labels.
 * Null for everything else, above all for addresses in any spelling. Names in other scripts come as `xn--`, as on the wire.
 */
export function normalName(text: string): string | null {
  if (text.startsWith('*')) return null
  const parsed = namePatternSchema.safeParse(text)
  return parsed.success ? parsed.data : null
}

/** Whether an exact name or `*.suffix` names it. Both must be normal. */
export function nameMatches(pattern: string, name: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === name
  return name.length > pattern.length - 1 && name.endsWith(pattern.slice(1))
}
