import type { Duplex } from 'node:stream'
import { EGRESS_PROXY_NAME, EGRESS_PROXY_PORT, nameMatches, type Recorder, type Secret } from '@hearth/contract'
import { unheard, type OnProblem } from '../host/in-background.ts'
import type { Channel, ChannelHandlers } from '../link/channel.ts'
import type { GuestCalls } from '../link/guest-channels.ts'
import type { Messages } from '../link/messages.gen.ts'
import { Budget, type NetworkUse } from './budget.ts'
import type { Dialer } from './dial/dialer.ts'
import { GatewayConnection, type Destination, type GatewayContext } from './gateway-connection.ts'
import { GuestStream, type Meter } from './guest-stream.ts'
import { GatewayScope, policyFromGuest } from './gateway-scope.ts'
import { NameAddresses } from './names.ts'
import { OTHER_PORTS } from './policy/known-ports.ts'
import type { CompiledPolicy, Refused } from './policy/compiled-policy.ts'
import { normalName } from './policy/host-name.ts'
import type { SandboxSecrets } from './secrets/sandbox-secrets.ts'
import { EgressProxy, type Onward } from './proxy/egress-proxy.ts'
import { CertificateAuthority } from './tls/authority.ts'

export interface SandboxGatewayOptions {
  readonly policy: CompiledPolicy
  readonly secrets: SandboxSecrets
  readonly dialer: Dialer
  readonly recorder: Recorder
  readonly extraRoots: readonly string[]
  /** What it has used of its budgets before. */
  readonly used?: NetworkUse
  /** The authority that the sandbox trusts already; without it one is made when it is first needed. */
  readonly authority?: CertificateAuthority | null
  /** Told of failures of the gateway itself, not of those of clients and servers. */
  readonly onProblem?: OnProblem
  /** Takes connections to its own Hearth; null for a sandbox without one. */
  readonly ownHearth: ((connection: Duplex) => void) | null
}

const NOT_FOUND: Messages['Address'] = { address: 0, ports: new Uint8Array(0) }
const SECRET_GONE = 'a secret for this name was removed'
const NO_PROXY_HERE: Refused = {
  allowed: false,
  refusal: 'name_not_allowed',
  message: `${EGRESS_PROXY_NAME} is the proxy of sandboxes that have one, and leads nowhere itself`,
}
const UNKNOWN_COMMAND: Refused = { allowed: false, refusal: 'denied', message: 'the command has ended' }
/** Of one name; the guest listens on all of them. */
const PORTS = 256

/** The way out of one sandbox. What it says yes to is dialed from here; everything the guest says is hostile. */
export class SandboxGateway implements GuestCalls {
  readonly #options: SandboxGatewayOptions
  readonly #context: GatewayContext
  readonly #names = new NameAddresses()
  readonly #machine: GatewayScope
  /** Networks of commands, by the number of the command. */
  readonly #scopes = new Map<number, GatewayScope>()
  readonly #budget: Budget
  readonly #connections = new Set<GatewayConnection>()
  readonly #proxy = new EgressProxy((address) => this.#names.nameAt(address))
  #policy: CompiledPolicy
  #authority: Promise<CertificateAuthority> | null = null
  #opensForCommand = false

  constructor(options: SandboxGatewayOptions) {
    const { secrets, dialer, recorder, extraRoots, policy, ownHearth } = options
    this.#options = options
    this.#policy = policy
    this.#budget = new Budget(options.used)
    this.#authority = options.authority ? Promise.resolve(options.authority) : null
    this.#machine = GatewayScope.ofMachine(() => this.#policy, ownHearth !== null)
    this.#context = {
      policy: () => this.#machine.verdicts,
      authority: () => this.authority(),
      secrets,
      dialer,
      recorder,
      extraRoots,
      ownHearth,
      onProblem: options.onProblem ?? unheard,
    }
  }

  /** Nothing can be reached, so that the sandbox needs no resolver. */
  get empty(): boolean {
    return this.#policy.empty && this.#options.ownHearth === null
  }

  /** What it has used so far, its earlier lives included. */
  get used(): NetworkUse {
    return this.#budget.used
  }

  get policy(): CompiledPolicy {
    return this.#policy
  }

  /** Whether connections may have to be opened, so that the sandbox must trust the authority. */
  get opens(): boolean {
    return this.#opensForCommand || this.#policy.partial || !this.#options.secrets.empty
  }

  /** The certificate authority of this sandbox. */
  authority(): Promise<CertificateAuthority> {
    this.#authority ??= CertificateAuthority.create()
    return this.#authority
  }

  /** A command will be started with this policy of its own. True when its sandbox must trust the authority for it, and was not told so yet. */
  expect(policy: CompiledPolicy): boolean {
    if (this.opens || !policy.partial) return false
    this.#opensForCommand = true
    return true
  }

  /** From now on this command, and what comes from it, reaches only what this policy allows too. */
  narrow(process: number, policy: string): void {
    this.#scopes.set(process, GatewayScope.ofCommand(this.#machine, policyFromGuest(policy)))
  }

  /** Nothing of the command is left. */
  forget(process: number): void {
    const scope = this.#scopes.get(process)
    this.#scopes.delete(process)
    for (const connection of this.#connections) if (connection.destination.scope === scope) connection.end()
    this.#proxy.forget(process)
  }

  lookup(asked: string, process = 0): Messages['Address'] {
    const scope = this.#scopeOf(process)
    if (scope === null) return NOT_FOUND
    const known = scope.found.get(asked)
    if (known !== undefined) return known
    const name = normalName(asked)
    if (name === null) {
      this.#refuse(asked, null, process || null, {
        allowed: false,
        refusal: 'malformed',
        message: 'this is not the name of a host',
      })
      return NOT_FOUND
    }
    const ports = this.#portsOf(name, scope)
    if (ports.length === 0) {
      // One that the sandbox itself may use tells that it is the command that may not.
      const [port = 443] = this.#machine.verdicts.ports(name)
      const verdict = name === EGRESS_PROXY_NAME ? NO_PROXY_HERE : scope.verdicts.connection(name, port)
      if (!verdict.allowed) this.#refuse(name, null, process || null, verdict)
      return NOT_FOUND
    }
    const address = this.#names.addressOf(name)
    if (address === null) {
      const message = 'the sandbox has asked for more names than it can have'
      this.#refuse(name, null, process || null, { allowed: false, refusal: 'budget_exhausted', message })
      return NOT_FOUND
    }
    const found = { address, ports: new Uint8Array(Uint16Array.from(ports).buffer) }
    scope.found.set(name, found)
    return found
  }

  dial(dialed: Messages['Dial'], open: (handlers: ChannelHandlers) => Channel): void {
    const name = this.#names.nameAt(dialed.address)
    if (name === null) return
    const process = dialed.process === 0 ? null : dialed.process
    this.connect(name, dialed.port, process, (meter) => new GuestStream(open, meter), dialed.scope)
  }

  /** A connection to a name. `open` is called when it is allowed, and gives the side of the sandbox. */
  connect(name: string, port: number, process: number | null, open: (meter: Meter) => Duplex, scopeNumber = 0): void {
    if (name !== EGRESS_PROXY_NAME || !this.#policy.proxy) {
      this.#connect(name, port, { process, scopeNumber }, open)
      return
    }
    // It may reach nothing yet; what it asks for is judged as a connection straight to that is.
    const onward: Onward = (asked, askedPort, take) => this.#connect(asked, askedPort, { process, scopeNumber }, take)
    const refused = (why: Refused): void => this.#refuse(name, port, process, why)
    if (this.#scopeOf(scopeNumber) !== null && port === EGRESS_PROXY_PORT)
      this.#proxy.serve(scopeNumber, open, { onward, refused })
  }

  /** Why it is not made; null when it is. */
  #connect(
    name: string,
    port: number,
    { process, scopeNumber }: { readonly process: number | null; readonly scopeNumber: number },
    open: (meter: Meter) => Duplex,
  ): Refused | null {
    const scope = this.#scopeOf(scopeNumber)
    // Of a command that nobody has spoken of.
    if (scope === null) return UNKNOWN_COMMAND
    const verdict = name === EGRESS_PROXY_NAME ? NO_PROXY_HERE : scope.verdicts.connection(name, port)
    const refused = verdict.allowed ? this.#begin(scope) : verdict
    if (refused !== null) {
      this.#refuse(name, port, process, refused)
      return refused
    }
    if (!verdict.allowed) return verdict
    const inspected = verdict.inspected || (this.#hasSecret(name) && !OTHER_PORTS.includes(port))
    void this.#serve({ name, port, process, verdict, inspected, scope }, open)
    return null
  }

  /** The proxy is there for every command where it is there at all: no policy names it. */
  #portsOf(name: string, scope: GatewayScope): readonly number[] {
    if (name !== EGRESS_PROXY_NAME) return scope.verdicts.ports(name).slice(0, PORTS)
    return this.#policy.proxy ? [EGRESS_PROXY_PORT] : []
  }

  /** From now on. What is under way and not allowed by it ends: requests, and connections that it would look into and nobody does. */
  setPolicy(policy: CompiledPolicy): void {
    this.#policy = policy
    for (const scope of [this.#machine, ...this.#scopes.values()]) scope.found.clear()
    this.#names.keep((name) => this.#portsOf(name, this.#machine).length > 0)
    if (!policy.proxy) this.#proxy.close()
    for (const connection of this.#connections) connection.reconsider()
  }

  /**
   * From now on. A value that was replaced is put into no further request; connections that were opened for a secret which is not for their name
   * any more are closed.
   */
  replaceSecrets(found: readonly Secret[]): void {
    const { secrets } = this.#options
    const changed = secrets.replace(found)
    for (const connection of this.#connections) {
      const { name, inspected } = connection.destination
      const lost = changed.some((secret) => nameMatches(secret.binding.name, name)) && !this.#hasSecret(name)
      if (inspected && lost) connection.refuse({ allowed: false, refusal: 'denied', message: SECRET_GONE })
    }
  }

  /** Ends every connection. */
  close(): void {
    this.#proxy.close()
    for (const connection of this.#connections) connection.end()
  }

  async #serve(destination: Destination, open: (meter: Meter) => Duplex): Promise<void> {
    const { scope } = destination
    const connection = new GatewayConnection({ ...this.#context, policy: () => scope.verdicts }, destination)
    this.#connections.add(connection)
    const check = (): void => {
      const spent = this.#budget.spent(this.#policy.budgets) ?? scope.spent()
      if (spent !== null) connection.refuse(spent)
    }
    const meter: Meter = {
      sent: (bytes) => {
        connection.sent(bytes)
        this.#budget.sent(bytes)
        scope.sent(bytes)
        check()
      },
      received: (bytes) => {
        connection.received(bytes)
        this.#budget.received(bytes)
        scope.received(bytes)
        check()
      },
    }
    await connection.serve(open(meter))
    this.#connections.delete(connection)
    this.#budget.end()
    scope.end()
  }

  #scopeOf(process: number): GatewayScope | null {
    return process === 0 ? this.#machine : (this.#scopes.get(process) ?? null)
  }

  #begin(scope: GatewayScope): Refused | null {
    const own = scope.begin()
    if (own !== null) return own
    const refused = this.#budget.begin(this.#policy.budgets)
    if (refused !== null) scope.end()
    return refused
  }

  #hasSecret(name: string): boolean {
    return this.#options.secrets.all.some(({ binding }) => nameMatches(binding.name, name))
  }

  #refuse(name: string, port: number | null, process: number | null, { refusal, message }: Refused): void {
    this.#options.recorder.add({ kind: 'refusal', process, name, port, refusal, message })
  }
}
