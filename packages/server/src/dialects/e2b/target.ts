import type { IncomingMessage } from 'node:http'
import { HearthError, type SandboxId } from '@hearth/contract'
import { parseE2bId } from './ids.ts'

/** envd, which speaks for the files and processes of a sandbox, and the code interpreter. Both are answered by the server itself. */
export const ENVD_PORT = 49_983
export const INTERPRETER_PORT = 49_999

/** A request for a sandbox. `sandbox` is null where the address does not tell: a signed link on one origin for all. */
export interface Target {
  readonly sandbox: SandboxId | null
  readonly port: number
}

const LABEL = /^(\d{1,5})-([a-z0-9_]{1,64})(?:-[a-z0-9]{1,64})?$/

/**
 * Which sandbox a request is for: by its host name `PORT-ID.DOMAIN`, or by two headers under every other name but `api.DOMAIN`, since this server
 * can have any. What they lead to is behind the same tokens as under its host name. Null: it is for the control plane.
 */
export function targetOf(incoming: IncomingMessage, domains: readonly string[]): Target | null {
  const host = (incoming.headers.host ?? '').toLowerCase().replace(/:\d{1,5}$/, '')
  const domain = domains.find((name) => host.endsWith(`.${name}`))
  if (domain !== undefined) {
    const label = host.slice(0, -domain.length - 1)
    if (label === 'api') return null
    if (label !== 'sandbox') return byName(label)
  }
  return byHeaders(incoming)
}

function byName(label: string): Target {
  const [, port = '', id = ''] = LABEL.exec(label) ?? []
  return { sandbox: requireId(id), port: requirePort(port) }
}

function byHeaders({ headers, url }: IncomingMessage): Target | null {
  const id = headers['e2b-sandbox-id']
  const port = headers['e2b-sandbox-port']
  if (id === undefined && port === undefined) {
    return /^\/files\?(?:.*&)?signature=/.test(url ?? '') ? { sandbox: null, port: ENVD_PORT } : null
  }
  if (typeof id !== 'string' || typeof port !== 'string') throw badTarget('one of the two routing headers is missing')
  return { sandbox: requireId(id), port: requirePort(port) }
}

function requireId(text: string): SandboxId {
  const id = parseE2bId(text)
  if (id === null) throw badTarget('the identifier of the sandbox is malformed')
  return id
}

function requirePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535) throw badTarget('the port is malformed')
  return port
}

function badTarget(why: string): HearthError {
  return new HearthError('invalid_request', why)
}
