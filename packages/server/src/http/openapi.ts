import { createRoute, OpenAPIHono, z, type RouteConfig } from '@hono/zod-openapi'
import { errorBodySchema, HearthError, sandboxIdSchema, type Scope } from '@hearth/contract'
import type { MiddlewareHandler } from 'hono'
import type { PageOptions } from '../state/index.ts'
import { requireArea } from './access/delegation.ts'
import { requireScope } from './access/scopes.ts'
import type { App, AppEnv } from './app-env.ts'
import { version } from './version.ts'

interface Described {
  /** Also the name of the operation in the log. */
  readonly name: string
  readonly summary: string
  /** Null for what every key may do, or none at all. */
  readonly scope: Scope | null
  /** Runs after the scope is known to be there and before the body is looked at. */
  readonly before?: MiddlewareHandler<AppEnv>
  readonly public?: boolean
}

/** A route of the API: its description, who may call it, and how it appears in the log, in one place. */
export function describeRoute<const Config extends RouteConfig>(described: Described, config: Config) {
  const { name, summary, scope, before } = described
  const middleware = before === undefined ? [enter(name, scope)] : [enter(name, scope), before]
  const route = createRoute({
    ...config,
    operationId: name,
    summary,
    tags: [name.slice(0, name.indexOf('.'))],
    security: described.public === true ? [] : [{ key: scope === null ? [] : [scope] }],
    middleware,
    responses: { ...config.responses, default: jsonAnswer(errorBodySchema, 'What went wrong.') },
  })
  // The middleware and the answer to failures are not the handlers' business.
  return route as unknown as Config & { getRoutingPath(): string }
}

function enter(name: string, scope: Scope | null): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const operation = context.get('operation')
    operation.name = name
    const id = context.req.param('id')
    if (id !== undefined && sandboxIdSchema.safeParse(id).success) operation.sandboxId = id
    // Without a caller it is public.
    const caller = context.get('caller') as AppEnv['Variables']['caller'] | undefined
    if (caller !== undefined) requireArea(caller, name)
    if (scope !== null) requireScope(context.get('caller').scopes, scope)
    await next()
  }
}

export function jsonAnswer<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { body: { required: true, content: { 'application/json': { schema } } } } as const
}

export function eventAnswer<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description: `${description} Each event is one JSON value.`, content: { 'text/event-stream': { schema } } }
}

export const rawBytes = z.string().meta({ format: 'binary' })
export const bytesBody = {
  body: { required: true, content: { 'application/octet-stream': { schema: rawBytes } } },
} as const
export const noContent = { 204: { description: 'Done.' } } as const

/** A repetition with the same key has the same outcome. */
export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional(),
})

export const sandboxParameters = z.object({ id: z.string().meta({ example: 'sb_01jd4q2m8r0000000000' }) })

/** Integers and booleans of a query. An empty or padded value is wrong, not zero. */
export function queryInteger(least: number, most: number) {
  return z
    .string()
    .regex(/^\d{1,16}$/, 'must be an integer')
    .transform(Number)
    .pipe(z.int().min(least).max(most))
}
/** Every list is paged. */
export const pageQuery = z.object({ limit: queryInteger(1, 1000).optional(), cursor: z.string().max(256).optional() })

/** As the store takes it. */
export function pageOptions({ limit, cursor }: z.output<typeof pageQuery>): PageOptions {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) }
}

export const queryBoolean = z.enum(['true', 'false']).transform((value) => value === 'true')

export const processParameters = sandboxParameters.extend({ process: queryInteger(1, 2 ** 32 - 1) })

/** A field of a body is named as it stands there; of what may be meant elsewhere it is said where. */
function placeOf(target: string, path: readonly PropertyKey[]): string {
  const named = target === 'json' && path.length > 0 ? path : [target === 'json' ? 'body' : target, ...path]
  return named.map(String).join('.')
}

/** A new router whose refusals of wrong input are ours. */
export function newApp(): App {
  return new OpenAPIHono<AppEnv>({
    defaultHook: (result) => {
      if (result.success) return
      const issues = result.error.issues
        .slice(0, 20)
        .map((issue) => `${placeOf(result.target, issue.path)}: ${issue.message}`)
      throw new HearthError('invalid_request', issues.join('; '), { context: { issues } })
    },
  })
}

export function openApiDocument(app: App) {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Hearth',
      version: version(),
      description: 'Sandboxes for agents: create them, run commands and code in them, move files, reach their ports.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
  })
}
