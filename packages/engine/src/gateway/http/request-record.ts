import type { HearthError } from '@hearth/contract'
import type { InspectedConnection } from '../connection.ts'
import { recordedMessage } from '../dial/dial-refused.ts'
import { CUT_MARK } from '../policy/recorded-egress.ts'
import { refusalOf } from './refusal.ts'

const METHOD_LENGTH = 32
const PATH_LENGTH = 1024
const MESSAGE_LENGTH = 512

export interface Noted {
  readonly method: string
  readonly target: string
}

/** Without the query, which holds what is nobody's business; and bounded. */
function shown({ method, target }: Noted): { method: string; path: string } {
  const path = target.split('?', 1)[0] ?? ''
  const cut = path.length > PATH_LENGTH ? `${path.slice(0, PATH_LENGTH)}${CUT_MARK}` : path
  return { method: method.slice(0, METHOD_LENGTH), path: cut }
}

export function recordRequest(
  connection: InspectedConnection,
  request: Noted,
  { named, secrets }: { readonly named: boolean; readonly secrets: readonly string[] },
  status: number | null,
): void {
  const { name, port, process } = connection
  connection.recorder.add({ kind: 'request', name, port, process, named, ...shown(request), status, secrets })
}

export function recordRefusal(connection: InspectedConnection, error: HearthError, request: Noted | null): void {
  const { name, port, process } = connection
  connection.recorder.add({
    kind: 'refusal',
    name,
    port,
    process,
    refusal: refusalOf(error) ?? 'malformed',
    message: recordedMessage(error).slice(0, MESSAGE_LENGTH),
    ...(request === null ? {} : shown(request)),
  })
}
