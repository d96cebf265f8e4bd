import type { Scope } from '@hearth/contract'
import type { TestServer } from './test-server.ts'

export interface DocumentedOperation {
  readonly method: string
  readonly path: string
  readonly id: string
  readonly scope: Scope | null
  readonly isPublic: boolean
  readonly body: unknown
  readonly query: readonly string[]
}

interface Description {
  operationId: string
  security: { key?: Scope[] }[]
  requestBody?: { content: Record<string, { schema: unknown }> }
  parameters?: { name: string; in: string }[]
}

export interface OpenApi {
  openapi: string
  paths: Record<string, Record<string, Description>>
  components: { schemas: Record<string, unknown> }
}

/** Every operation of the document that a server serves. */
export async function documentedOperations(server: TestServer): Promise<DocumentedOperation[]> {
  const document = await server.json<OpenApi>('GET', '/openapi.json', { key: null })
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, description]) => ({
      method: method.toUpperCase(),
      path,
      id: description.operationId,
      scope: description.security[0]?.key?.[0] ?? null,
      isPublic: description.security.length === 0,
      body: description.requestBody?.content['application/json']?.schema ?? null,
      query: (description.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name),
    })),
  )
}

export function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => values[name] ?? '1')
}
