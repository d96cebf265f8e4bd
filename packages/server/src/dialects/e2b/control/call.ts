import type { IncomingMessage } from 'node:http'
import { HearthError, type SandboxId, type Scope } from '@hearth/contract'
import type { z } from 'zod'
import type { Caller } from '../../../control-plane.ts'
import type { Operation } from '../../../http/operation.ts'
import { readJson } from '../../json-body.ts'
import type { E2b } from '../e2b.ts'
import { fromE2bId } from '../ids.ts'

/** One call to the control plane. */
export class Call {
  readonly e2b: E2b
  readonly incoming: IncomingMessage
  readonly operation: Operation
  readonly caller: Caller
  readonly query: URLSearchParams
  readonly #parameters: Readonly<Record<string, string>>

  constructor(
    e2b: E2b,
    request: { readonly incoming: IncomingMessage; readonly operation: Operation; readonly caller: Caller },
    where: { readonly query: URLSearchParams; readonly parameters: Readonly<Record<string, string>> },
  ) {
    this.e2b = e2b
    this.incoming = request.incoming
    this.operation = request.operation
    this.caller = request.caller
    this.query = where.query
    this.#parameters = where.parameters
  }

  get plane(): E2b['services']['controlPlane'] {
    return this.e2b.services.controlPlane
  }

  parameter(name: string): string {
    return this.#parameters[name] ?? ''
  }

  get sandboxId(): SandboxId {
    const id = fromE2bId(this.parameter('id'))
    this.operation.sandboxId = id
    return id
  }

  /** The JSON body, checked; one that is missing is an empty object. */
  async body<Schema extends z.ZodType>(schema: Schema): Promise<z.output<Schema>> {
    return await readJson(this.incoming, this.e2b.services.limits, schema)
  }

  /** An integer of the query within bounds. */
  integer(name: string, minimum: number, maximum: number): number | null {
    const text = this.query.get(name)
    if (text === null || text === '') return null
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= minimum && number <= maximum) return number
    throw new HearthError('invalid_request', `${name}: must be an integer from ${minimum} to ${maximum}`)
  }
}

export interface Answer {
  readonly status: number
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Route {
  readonly method: string
  /** For example `/sandboxes/{id}`. */
  readonly path: string
  readonly name: string
  readonly scope: Scope | null
  readonly handle: (call: Call) => Promise<Answer>
}
