import type { PlaceholderWatch } from './placeholder-watch.ts'
import type { SandboxSecret } from './sandbox-secrets.ts'

/**
 * Puts values into the fields of a JSON body that they are bound to, and leaves every other byte as it is. A placeholder in another
 * field, or one that is there twice, is refused.
 */
export async function placeInJson(
  body: Buffer,
  usable: readonly SandboxSecret[],
  watch: PlaceholderWatch,
): Promise<{ readonly body: Buffer; readonly used: readonly SandboxSecret[] }> {
  const used: SandboxSecret[] = []
  let text = body.toString('latin1')
  const values: string[] = []
  const parsed = parse(body)
  for (const secret of usable) {
    const { placement } = secret.binding
    if (placement.in !== 'json' || fieldOf(parsed, placement.field) !== secret.placeholder) continue
    const [before, after, ...more] = text.split(JSON.stringify(secret.placeholder))
    if (before === undefined || after === undefined || more.length > 0) continue
    // Nothing printable can be confused with this, so that what is left can be searched for placeholders.
    text = `${before}\u0000${values.length}\u0000${after}`
    values.push(JSON.stringify(secret.value))
    used.push(secret)
  }
  await watch.checkLong(Buffer.from(text, 'latin1'), 'the body')
  // eslint-disable-next-line no-control-regex -- the marks from above
  const filled = text.replaceAll(/\u0000(\d+)\u0000/g, (_mark, index: string) => values[Number(index)] ?? '')
  return used.length === 0 ? { body, used } : { body: Buffer.from(filled, 'latin1'), used }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function fieldOf(value: unknown, path: string): unknown {
  let found = value
  for (const key of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
