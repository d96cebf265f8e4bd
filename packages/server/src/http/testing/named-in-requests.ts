// For tests: which fields of requests name something that belongs to a tenant.
import type { OpenApi } from './document.ts'

const RESOURCE =
  /^(id|from|since|child|parent|run|key|sandbox|volume|workspace|repository|secret|snapshot|template|tenant)$/

/** `operation field` for each such field of a body, `operation ?field` for each of a query. */
export function namedInRequests({ paths, components }: OpenApi): string[] {
  const found = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, requestBody, parameters = [] }) => {
      const schema = requestBody?.content['application/json']?.schema
      const queries = parameters.filter(({ name, in: place }) => place === 'query' && RESOURCE.test(name))
      const fields = [...fieldsOf(schema, components.schemas, [], []), ...queries.map(({ name }) => `?${name}`)]
      return fields.map((field) => `${operationId} ${field}`)
    }),
  )
  return [...new Set(found)]
}

type Schema = Readonly<Record<string, unknown>>

function fieldsOf(schema: unknown, known: Schema, path: readonly string[], within: readonly unknown[]): string[] {
  if (typeof schema !== 'object' || schema === null || within.includes(schema)) return []
  const inside = [...within, schema]
  const { $ref, items, properties = {}, ...rest } = schema as Schema
  const inner = (next: unknown, at: readonly string[] = path): string[] => fieldsOf(next, known, at, inside)
  if (typeof $ref === 'string') return inner(known[$ref.replace('#/components/schemas/', '')])
  const variants = ['anyOf', 'oneOf', 'allOf'].flatMap((kind) => (rest[kind] ?? []) as unknown[])
  const own = Object.entries(properties as Schema).flatMap(([name, value]) => [
    ...(RESOURCE.test(name) ? [[...path, name].join('.')] : []),
    ...inner(value, [...path, name]),
  ])
  return [...inner(items), ...variants.flatMap((variant) => inner(variant)), ...own]
}
