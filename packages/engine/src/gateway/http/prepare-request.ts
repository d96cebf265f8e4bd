import type { InspectedConnection } from '../connection.ts'
import type { CheckedRequest } from './check-request.ts'
import type { HttpLimits } from './limits.ts'
import type { Headers, Inbound } from './message.ts'
import type { Filter } from './pump.ts'

/** A request as it goes out, with secrets in their places. */
export interface PreparedRequest extends CheckedRequest {
  readonly named: boolean
  /** Names of the secrets that were put in. */
  readonly secrets: readonly string[]
  /** Where it had to be read whole. */
  readonly body: Buffer | null
  /** For a body that streams. */
  readonly filter: Filter | null
  checkTrailers(trailers: Headers): void
  /** Answers the request here instead of sending it on; returns the status. */
  readonly answered: ((inbound: Inbound) => number) | null
}

export async function prepareRequest(
  connection: InspectedConnection,
  inbound: Inbound,
  checked: CheckedRequest,
  named: boolean,
  limits: HttpLimits,
): Promise<PreparedRequest> {
  const plain = {
    ...checked,
    named,
    secrets: [],
    body: null,
    filter: null,
    checkTrailers: () => undefined,
    answered: null,
  }
  const headers = inbound.expectsContinue ? [...checked.headers, ['expect', '100-continue'] as const] : checked.headers
  void limits
  void connection
  return { ...plain, headers }
}
