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
