import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../app-env.ts'
import type { HttpLimits } from '../limits.ts'
import { readWhole } from './read-body.ts'

/** Reads the body within its bounds before anything parses it. The adapter takes `rawBody` instead of the stream. */
export function boundedJson(limits: HttpLimits, maximumBytes: number = limits.jsonBytes): MiddlewareHandler<AppEnv> {
  return async (context, next) => {
    const incoming: { rawBody?: Buffer } & typeof context.env.incoming = context.env.incoming
    incoming.rawBody = await readWhole(incoming, {
      maximumBytes,
      idleMs: limits.jsonBodyMs,
      totalMs: limits.jsonBodyMs,
    })
    await next()
  }
}
