import type { IncomingMessage } from 'node:http'
import { HearthError, parseInput } from '@hearth/contract'
import type { z } from 'zod'
import { readWhole } from '../http/bodies/read-body.ts'
import type { HttpLimits } from '../http/limits.ts'

/** The JSON body, checked, whatever its type says; one that is missing is an empty object. */
export async function readJson<Schema extends z.ZodType>(
  incoming: IncomingMessage,
  { jsonBytes, jsonBodyMs }: Pick<HttpLimits, 'jsonBytes' | 'jsonBodyMs'>,
  schema: Schema,
): Promise<z.output<Schema>> {
  const bounds = { maximumBytes: jsonBytes, idleMs: jsonBodyMs, totalMs: jsonBodyMs }
  const text = (await readWhole(incoming, bounds)).toString('utf8')
  return parseInput(schema, parseJson(text), 'body')
}

function parseJson(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    throw new HearthError('invalid_request', 'the body is not JSON')
  }
}
