import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { HearthError, OWN_HEARTH_NAME, type Recorder, type Refusal } from '@hearth/contract'
import type { OnProblem } from '../host/in-background.ts'
import { AheadDial } from './dial/ahead-dial.ts'
import { ConnectionRecord, type Protocol } from './connection-record.ts'
import type { Dialer } from './dial/dialer.ts'
import { recordedMessage } from './dial/dial-refused.ts'
import { mayDial } from './dial/may-dial.ts'
import { dialOwnHearth } from './dial/own-hearth.ts'
import { firstLineWatch, readOpening, type Opening } from './first-bytes.ts'
import type { Meter } from './guest-stream.ts'
import { RunningRequests } from './http/running-requests.ts'
import { serveInspected } from './http/serve-inspected.ts'
import { passThrough } from './pass-through.ts'
import { normalName } from './policy/host-name.ts'
import type { GatewayScope } from './gateway-scope.ts'
import type { NameVerdict, Refused } from './policy/compiled-policy.ts'
import type { Verdicts } from './policy/narrowed-policy.ts'
import type { SandboxSecrets } from './secrets/sandbox-secrets.ts'
import type { CertificateAuthority } from './tls/authority.ts'

/** What all connections of one sandbox share. */
export interface GatewayContext {
  readonly policy: () => Verdicts
  readonly secrets: SandboxSecrets
  /** Made when it is first needed. */
  readonly authority: () => Promise<CertificateAuthority>
  readonly dialer: Dialer
  readonly recorder: Recorder
  readonly extraRoots: readonly string[]
  readonly ownHearth: ((connection: Duplex) => void) | null
  readonly onProblem: OnProblem
}

/** Where a connection goes and what was said about it when it began. */
export interface Destination {
  readonly name: string
  readonly port: number
  readonly process: number | null
  readonly verdict: Extract<NameVerdict, { allowed: true }>
  /** What is said inside is looked at: a rule or a secret needs it. */
  readonly inspected: boolean
  /** In which network of the sandbox it was made. */
  readonly scope: GatewayScope
}

const NO_LONGER_REACHED = 'the policy no longer allows the address that was dialed'

/** One connection out of a sandbox, from its first byte to its entry in the record. */
export class GatewayConnection implements Meter {
  readonly destination: Destination
  readonly #context: GatewayContext
  readonly #abort = new AbortController()
  readonly #record: ConnectionRecord
  #refused: Refused | null = null
  readonly #running = new RunningRequests()
  /** To servers whose addresses are dialed, not to the sandbox's own Hearth. */
  readonly #sockets = new Set<Socket>()
  /** Dialed while the client has not said yet what it wants. */
  #ahead: AheadDial | null = null

  constructor(context: GatewayContext, destination: Destination) {
    this.#context = context
    this.destination = destination
    this.#record = new ConnectionRecord(context.recorder, destination)
  }

  sent(bytes: number): void {
    this.#record.sent(bytes)
  }

  received(bytes: number): void {
    this.#record.received(bytes)
  }

  /** Ends it because it is not, or no longer, allowed. */
  refuse(refused: Refused): void {
    if (this.#refused !== null || this.#abort.signal.aborted) return
    this.#refused = refused
    this.#abort.abort()
  }

  /** The policy has changed. Ends what it does not allow any more: all of it, or requests inside it. */
  reconsider(): void {
    const { name, port, inspected } = this.destination
    const policy = this.#context.policy()
    const verdict = policy.connection(name, port)
    if (!verdict.allowed) return this.refuse(verdict)
    if (verdict.inspected && !inspected)
      return this.refuse({ allowed: false, refusal: 'denied', message: 'the policy has changed' })
    if (![...this.#sockets].every((socket) => isStillReached(socket, verdict.addresses)))
      return this.refuse({ allowed: false, refusal: 'address_not_public', message: NO_LONGER_REACHED })
    this.#running.judge((method, target) => policy.request(name, port, method, target))
  }

  /** Ends it without a reason of its own: the sandbox has ended. */
  end(): void {
    this.#abort.abort()
  }

  /** Resolves when it is over and recorded. Never throws. */
  async serve(stream: Duplex): Promise<void> {
    // Whoever reads or writes hears of it; without a listener it would end the process.
    stream.on('error', () => undefined)
    const end = (): void => void stream.destroy()
    this.#abort.signal.addEventListener('abort', end, { once: true })
    const failure = await this.#carry(stream).catch((error: unknown) => this.#failed(error))
    stream.destroy()
    this.#abort.abort()
    this.#ahead?.discard()
    this.#record.finish(this.#refused, failure)
  }

  async #carry(stream: Duplex): Promise<string | null> {
    const { inspected, name } = this.destination
    // Nothing is said to the server before the client is judged; when it cannot be reached, nobody waits for the client.
    this.#ahead = inspected ? null : new AheadDial(this.#connect(this.#abort.signal), (error) => stream.destroy(error))
    const opening = await readOpening(stream, this.#ahead?.spoken ?? Promise.withResolvers().promise)
    if (this.#ahead?.failure) throw this.#ahead.failure
    const protocol = this.#judge(opening, name)
    if (protocol === null) return null
    this.#record.protocol = protocol
    if (protocol === 'opened' || protocol === 'http') return await this.#inspect(stream, protocol === 'opened')
    const socket = await this.#dial()
    const refuse = (): void => void this.#refuse('malformed', 'a request that came in pieces')
    await passThrough(stream, socket, opening.kind === 'other' ? firstLineWatch(refuse) : null)
    return null
  }

  /** How it is carried; null when there is nothing to carry, or it is refused. */
  #judge(opening: Opening, name: string): Protocol | null {
    const { inspected } = this.destination
    switch (opening.kind) {
      case 'nothing':
        return null
      case 'malformed':
        return this.#refuse('malformed', 'its beginning cannot be understood')
      case 'http':
        return 'http'
      case 'socks':
        return this.#refuse('protocol_not_allowed', 'SOCKS would lead past the gateway')
      case 'other':
        return inspected
          ? this.#refuse('protocol_not_allowed', `the rules for ${name} need HTTP, and this is something else`)
          : 'tcp'
      case 'hello': {
        if (name === OWN_HEARTH_NAME)
          return this.#refuse('protocol_not_allowed', `${name} speaks HTTP without TLS: use http://${name}`)
        if (opening.serverName === null || normalName(opening.serverName) !== name)
          return this.#refuse('name_mismatch', `TLS asks for ${opening.serverName ?? 'no name'} and not for ${name}`)
        if (inspected) return 'opened'
        return opening.encrypted
          ? this.#refuse('protocol_not_allowed', 'the name may be hidden by an encrypted hello of TLS')
          : 'tls'
      }
    }
  }

  async #inspect(stream: Duplex, secure: boolean): Promise<string | null> {
    const { name, port, process } = this.destination
    const { policy, secrets, recorder, extraRoots, onProblem } = this.#context
    const dial = (signal?: AbortSignal): Promise<Socket> => this.#dial(signal)
    const authority = await this.#context.authority()
    const { signal } = this.#abort
    return await serveInspected({
      name,
      port,
      process,
      stream,
      secure,
      policy,
      secrets,
      authority,
      recorder,
      running: this.#running,
      dial,
      extraRoots,
      onProblem,
      signal,
    })
  }

  async #dial(signal?: AbortSignal): Promise<Socket> {
    const ahead = this.#ahead
    this.#ahead = null
    const socket = await ahead?.take()
    if (socket !== undefined && !socket.destroyed) return socket
    const own = this.#abort.signal
    return await this.#connect(signal === undefined ? own : AbortSignal.any([own, signal]))
  }

  async #connect(signal: AbortSignal): Promise<Socket> {
    const { name, port } = this.destination
    const verdict = this.#context.policy().connection(name, port)
    if (!verdict.allowed)
      throw new HearthError('egress_refused', verdict.message, { context: { refusal: verdict.refusal } })
    // Nobody is asked for this name, and nothing is reached by an address.
    if (name === OWN_HEARTH_NAME) return this.#connectInside()
    const socket = await this.#context.dialer.dial(name, port, { addresses: verdict.addresses, signal })
    socket.on('error', () => undefined)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // The policy may have changed meanwhile.
    this.reconsider()
    if (this.#refused === null) return socket
    socket.destroy()
    throw new HearthError('egress_refused', this.#refused.message, { context: { refusal: this.#refused.refusal } })
  }

  #connectInside(): Socket {
    const { ownHearth } = this.#context
    if (ownHearth === null) throw new HearthError('internal', 'a sandbox without a Hearth of its own was let through')
    return dialOwnHearth(ownHearth)
  }

  #refuse(refusal: Refusal, message: string): null {
    this.refuse({ allowed: false, refusal, message })
    return null
  }

  #failed(error: unknown): string {
    if (HearthError.isInstance(error) && error.code === 'egress_refused') {
      this.refuse({
        allowed: false,
        refusal: (error.context as { refusal?: Refusal }).refusal ?? 'address_not_public',
        message: recordedMessage(error),
      })
    }
    return error instanceof Error ? error.message : String(error)
  }
}

/** One that is not connected any more reaches nothing. */
function isStillReached({ remoteAddress }: Socket, addresses: readonly string[]): boolean {
  return remoteAddress === undefined || mayDial(remoteAddress, addresses)
}
