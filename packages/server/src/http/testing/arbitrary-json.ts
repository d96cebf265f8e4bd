import fc from 'fast-check'

type Schema = Readonly<Record<string, unknown>>

/** Values of a JSON schema, often right, sometimes wrong in one place or all over. */
export function mutatedJson(schema: unknown, components: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const right = valueOf(schema, components, 0)
  return fc.oneof(
    { weight: 4, arbitrary: right },
    {
      weight: 3,
      arbitrary: fc.tuple(right, fc.string(), wild).map(([value, name, other]) => spoiled(value, name, other)),
    },
    { weight: 1, arbitrary: wild },
  )
}

export const wild: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(null, '', '\0', -1, 1e308, 2 ** 53, 0.5, '/', '../..', '\ud800', [], {}, 'x'.repeat(5000), [
    [[[[]]]],
  ]),
  fc.string({ unit: 'binary', maxLength: 50 }),
)

function spoiled(value: unknown, name: string, other: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return other
  const names = Object.keys(value)
  const target = names.length === 0 || name.length % 3 === 0 ? name : (names[name.length % names.length] ?? name)
  return { ...value, [target]: other }
}

function valueOf(schema: unknown, components: Readonly<Record<string, unknown>>, depth: number): fc.Arbitrary<unknown> {
  if (typeof schema !== 'object' || schema === null || depth > 6) return wild
  const known = schema as Schema
  const within = (inner: unknown): fc.Arbitrary<unknown> => valueOf(inner, components, depth + 1)
  if (typeof known['$ref'] === 'string') return within(components[known['$ref'].replace('#/components/schemas/', '')])
  const options = known['anyOf'] ?? known['oneOf']
  if (Array.isArray(options)) return fc.oneof(...options.map(within))
  if (Array.isArray(known['enum'])) return fc.constantFrom(...(known['enum'] as unknown[]))
  if (known['type'] === 'object') return objectOf(known, within)
  if (known['type'] === 'array') return fc.array(within(known['items']), { maxLength: 3 })
  if (known['type'] === 'boolean') return fc.boolean()
  if (known['type'] === 'integer' || known['type'] === 'number') return numberOf(known)
  return textOf(known)
}

function objectOf(known: Schema, within: (inner: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const properties = Object.entries((known['properties'] ?? {}) as Record<string, unknown>)
  if (properties.length === 0)
    return fc.dictionary(fc.string({ maxLength: 10 }), fc.string({ maxLength: 20 }), { maxKeys: 3 })
  const model = Object.fromEntries(properties.map(([name, inner]) => [name, within(inner)]))
  return fc.record(model, { requiredKeys: (known['required'] ?? []) as string[] })
}

function numberOf(known: Schema): fc.Arbitrary<number> {
  const min = Math.ceil(Number(known['minimum'] ?? 0))
  const max = Math.floor(Number(known['maximum'] ?? 1000))
  return fc.oneof(fc.integer({ min, max: Math.min(max, min + 1000) }), fc.constantFrom(min, max, min - 1, max + 1))
}

function textOf(known: Schema): fc.Arbitrary<string> {
  const pattern = typeof known['pattern'] === 'string' ? known['pattern'] : ''
  if (pattern.startsWith('^\\/'))
    return fc.constantFrom('/tmp', '/tmp/a', '/', '/proc/self/mem', '/dev/zero/x', '/..//../etc')
  return fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom('true', 'eHg=', 'SIGTERM', 'root', 'a'))
}
