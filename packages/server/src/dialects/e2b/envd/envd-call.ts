import type { IncomingMessage, ServerResponse } from 'node:http'
import { HearthError, type Sandbox, type Scope } from '@hearth/contract'
import type { Caller } from '../../../control-plane.ts'
import { requireScope } from '../../../http/access/scopes.ts'
import type { Operation } from '../../../http/operation.ts'
import type { E2b } from '../e2b.ts'

/** One call to envd, whose caller and sandbox are known. */
export interface UserlessCall {
  readonly e2b: E2b
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly operation: Operation
  readonly caller: Caller
  readonly sandbox: Sandbox
}

export interface EnvdCall extends UserlessCall {
  /** Whose home and rights count; null for the user of the sandbox. */
  readonly user: string | null
}

export function begin(call: UserlessCall, name: string, scope: Scope): void {
  call.operation.name = `e2b.${name}`
  requireScope(call.caller.scopes, scope)
}

/** With the user that it names in its query or its headers. */
export async function withUser(call: UserlessCall, username: string | null): Promise<EnvdCall> {
  const given = username ?? givenUser(call.incoming.headers.authorization)
  return { ...call, user: await call.e2b.users.require(call.sandbox, given) }
}

/** `Basic` without a password. */
function givenUser(authorization: string | undefined): string | null {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=]{1,256})$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return null
  const [name = '', password] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  if (password !== undefined && password !== '') throw new HearthError('unauthorized', 'users have no password')
  return name === '' ? null : name
}

export async function resolvePath({ e2b, sandbox, user }: EnvdCall, path: string): Promise<string> {
  return await e2b.users.resolve(sandbox, user, path)
}
