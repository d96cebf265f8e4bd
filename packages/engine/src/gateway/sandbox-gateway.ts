import type { Duplex } from 'node:stream'
import { nameMatches, type Recorder } from '@hearth/contract'
import type { Channel, ChannelHandlers } from '../link/channel.ts'
import type { GuestCalls } from '../link/guest-channels.ts'
import type { Messages } from '../link/messages.gen.ts'
import { Budget } from './budget.ts'
import type { Dialer } from './dial/dialer.ts'
import { GatewayConnection, type Destination, type GatewayContext } from './gateway-connection.ts'
import { GuestStream, type Meter } from './guest-stream.ts'
import { NameAddresses } from './names.ts'
import type { CompiledPolicy, Refused } from './policy/compiled-policy.ts'
import { normalName } from './policy/host-name.ts'
import type { SandboxSecrets } from './secrets/sandbox-secrets.ts'
import { CertificateAuthority } from './tls/authority.ts'

export interface SandboxGatewayOptions {
  readonly policy: CompiledPolicy
  readonly secrets: SandboxSecrets
  readonly dialer: Dialer
  readonly recorder: Recorder
  readonly extraRoots: readonly string[]
}

const NOT_FOUND: Messages['Address'] = { address: 0, ports: new Uint8Array(0) }
/** Of one name; the guest listens on all of them. */
const PORTS = 256

/** The way out of one sandbox. What it says yes to is dialed from here; everything the guest says is hostile. */
export class SandboxGateway implements GuestCalls {
  readonly #options: SandboxGatewayOptions
  readonly #context: GatewayContext
  readonly #names = new NameAddresses()
  /** What was said of names that have an address; as many as those. */
  readonly #found = new Map<string, Messages['Address']>()
  readonly #budget = new Budget()
  readonly #connections = new Set<GatewayConnection>()
  #policy: CompiledPolicy
  #authority: Promise<CertificateAuthority> | null = null

  constructor(options: SandboxGatewayOptions) {
    const { secrets, dialer, recorder, extraRoots, policy } = options
    this.#options = options
    this.#policy = policy
    this.#context = {
      policy: () => this.#policy,
      authority: () => this.authority(),
      secrets,
      dialer,
      recorder,
      extraRoots,
    }
  }

  get policy(): CompiledPolicy {
    return this.#policy
  }

  /** Whether connections may have to be opened, so that the sandbox must trust the authority. */
  get opens(): boolean {
    const { allow, deny } = this.#policy.rules
    const partial = [...allow, ...deny].some((rule) => rule.methods !== undefined || rule.paths !== undefined)
    return partial || !this.#options.secrets.empty
  }

  /** The certificate authority of this sandbox. */
  authority(): Promise<CertificateAuthority> {
    this.#authority ??= CertificateAuthority.create()
    return this.#authority
  }

  lookup(asked: string): Messages['Address'] {
    const known = this.#found.get(asked)
    if (known !== undefined) return known
    const name = normalName(asked)
    if (name === null) {
      this.#refuse(asked, null, null, {
        allowed: false,
        refusal: 'malformed',
        message: 'this is not the name of a host',
      })
      return NOT_FOUND
    }
    const ports = this.#policy.ports(name).slice(0, PORTS)
    if (ports.length === 0) {
      const verdict = this.#policy.connection(name, 443)
      if (!verdict.allowed) this.#refuse(name, null, null, verdict)
      return NOT_FOUND
    }
    const address = this.#names.addressOf(name)
    if (address === null) {
      const message = 'the sandbox has asked for more names than it can have'
      this.#refuse(name, null, null, { allowed: false, refusal: 'budget_exhausted', message })
      return NOT_FOUND
    }
    const found = { address, ports: new Uint8Array(Uint16Array.from(ports).buffer) }
    this.#found.set(name, found)
    return found
  }

  dial(dialed: Messages['Dial'], open: (handlers: ChannelHandlers) => Channel): void {
    const name = this.#names.nameAt(dialed.address)
    if (name === null) return
    const process = dialed.process === 0 ? null : dialed.process
    this.connect(name, dialed.port, process, (meter) => new GuestStream(open, meter))
  }

  /** A connection to a name. `open` is called when it is allowed, and gives the side of the sandbox. */
  connect(name: string, port: number, process: number | null, open: (meter: Meter) => Duplex): void {
    const verdict = this.#policy.connection(name, port)
    const refused = verdict.allowed ? this.#budget.begin(this.#policy.budgets) : verdict
    if (refused !== null) {
      this.#refuse(name, port, process, refused)
      return
    }
    if (!verdict.allowed) return
    const inspected = verdict.inspected || this.#hasSecret(name)
    void this.#serve({ name, port, process, verdict, inspected }, open)
  }

  /** From now on. Connections that it does not allow, or would look into and nobody does, are closed. */
  setPolicy(policy: CompiledPolicy): void {
    this.#policy = policy
    this.#found.clear()
    this.#names.keep((name) => policy.ports(name).length > 0)
    for (const connection of this.#connections) {
      const { name, port, inspected } = connection.destination
      const verdict = policy.connection(name, port)
      if (!verdict.allowed) connection.refuse(verdict)
      else if (verdict.inspected && !inspected)
        connection.refuse({ allowed: false, refusal: 'denied', message: 'the policy has changed' })
    }
  }

  /** Ends every connection. */
  close(): void {
    for (const connection of this.#connections) connection.end()
  }

  async #serve(destination: Destination, open: (meter: Meter) => Duplex): Promise<void> {
    const connection = new GatewayConnection(this.#context, destination)
    this.#connections.add(connection)
    const check = (): void => {
      const spent = this.#budget.spent(this.#policy.budgets)
      if (spent !== null) connection.refuse(spent)
    }
    const meter: Meter = {
      sent: (bytes) => {
        connection.sent(bytes)
        this.#budget.sent(bytes)
        check()
      },
      received: (bytes) => {
        connection.received(bytes)
        this.#budget.received(bytes)
        check()
      },
    }
    await connection.serve(open(meter))
    this.#connections.delete(connection)
    this.#budget.end()
  }

  #hasSecret(name: string): boolean {
    return this.#options.secrets.all.some(({ binding }) => nameMatches(binding.name, name))
  }

  #refuse(name: string, port: number | null, process: number | null, { refusal, message }: Refused): void {
    this.#options.recorder.add({ kind: 'refusal', process, name, port, refusal, message })
  }
}
