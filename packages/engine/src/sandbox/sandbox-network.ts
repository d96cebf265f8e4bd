import {
  EGRESS_PROXY_ENVIRONMENT,
  HearthError,
  OWN_HEARTH_ENVIRONMENT,
  type Limits,
  type Policy,
  type SandboxId,
  type Secret,
  type SecretUse,
} from '@hearth/contract'
import type { NetworkUse } from '../gateway/budget.ts'
import { Dialer } from '../gateway/dial/dialer.ts'
import type { GatewayOptions } from '../gateway/gateway-options.ts'
import { CompiledPolicy } from '../gateway/policy/compiled-policy.ts'
import { SandboxGateway } from '../gateway/sandbox-gateway.ts'
import { SandboxSecrets } from '../gateway/secrets/sandbox-secrets.ts'
import { CertificateAuthority } from '../gateway/tls/authority.ts'
import type { Machine, MachineNetwork } from '../machine/machine.ts'
import { readNetworkKeys, readNetworkUse, writeNetworkKeys, writeNetworkUse, type NetworkKeys } from './kept-network.ts'
import type { UnownedRecord } from './sandbox-record.ts'
import { trustVariables } from './trust-variables.ts'

/** What is written down about the network of a sandbox: what it may reach, and which secrets it uses, never their values. */
export interface NetworkSpec {
  readonly policy: Policy
  readonly secrets: readonly SecretUse[]
  /** It finds the server that made it, by name. */
  readonly ownHearth: boolean
}

export const NO_NETWORK: NetworkSpec = { policy: {}, secrets: [], ownHearth: false }

/** How much a kill of the server forgets of what was used. */
const USE_KEPT_MS = 2000

/** What a machine gets on top of its configuration. */
export interface Outfit {
  /** The base environment of its commands, whole. */
  readonly environment: Readonly<Record<string, string>>
  /** Absent when nothing can be reached: then it costs nothing. */
  readonly network?: MachineNetwork
}

/** The network of one sandbox of this process. */
export class SandboxNetwork {
  readonly #environment: Readonly<Record<string, string>>
  /** What its commands find, and no value of which is worth anything elsewhere. */
  readonly #placeholders: Readonly<Record<string, string>>
  readonly #gateway: SandboxGateway
  readonly #secrets: SandboxSecrets
  readonly #findSecrets: () => Promise<Secret[]>
  readonly #limits: Limits
  /** The machine was told, and must be told of changes. */
  #told = false
  /** Its programs begin with the variables of a proxy. */
  #proxied = false
  /** Where its keys are kept for its later lives; null until there is such a place. */
  #directory: string | null = null
  /** What is written there has an authority. */
  #authorityKept: boolean
  #useTimer: NodeJS.Timeout | null = null
  #useKept = ''
  /** It was taken up while it was paused, and does not know of this network yet. */
  #waits = false

  private constructor(record: UnownedRecord, options: GatewayOptions, found: readonly Secret[], kept: Kept) {
    const { info, configuration, network } = record
    const secrets = new SandboxSecrets(found, new Map(Object.entries(kept.placeholders)))
    this.#secrets = secrets
    this.#findSecrets = () => secretsOf(record, options)
    this.#authorityKept = kept.authority !== null
    this.#limits = info.limits
    this.#environment = configuration.environment
    const { ownHearth } = options
    const serve = network.ownHearth && ownHearth !== undefined ? ownHearth : null
    this.#placeholders = { ...placeholders(network, secrets), ...(serve === null ? {} : OWN_HEARTH_ENVIRONMENT) }
    this.#gateway = new SandboxGateway({
      policy: new CompiledPolicy(network.policy),
      secrets,
      dialer: new Dialer(options.gateway?.resolve),
      recorder: options.recorder?.(info.id) ?? { add: () => undefined },
      extraRoots: options.gateway?.extraRoots ?? [],
      authority: kept.authority,
      ...(options.onProblem === undefined ? {} : { onProblem: options.onProblem }),
      ...(kept.used === null ? {} : { used: kept.used }),
      ownHearth: serve === null ? null : (connection) => serve(info.id, connection),
    })
  }

  /** Of a new sandbox, also of a copy: with placeholders and an authority that no other sandbox has. A copy has used what the other had. */
  static async create(
    record: UnownedRecord,
    options: GatewayOptions,
    used: NetworkUse | null = null,
  ): Promise<SandboxNetwork> {
    const kept = { placeholders: {}, authority: null, used }
    return new SandboxNetwork(record, options, await secretsOf(record, options), kept)
  }

  /** Of one that was there before, with what its programs hold. */
  static async again(record: UnownedRecord, options: GatewayOptions, directory: string): Promise<SandboxNetwork> {
    const [found, kept] = await Promise.all([secretsOf(record, options), keptIn(directory)])
    const network = new SandboxNetwork(record, options, found, kept)
    await network.keepIn(directory)
    return network
  }

  /** From now on what its programs hold is written down here, and what it uses. */
  async keepIn(directory: string): Promise<void> {
    this.#directory = directory
    this.#keepUse()
    const { opens } = this.#gateway
    if (!opens && this.#secrets.empty) return
    const authority = opens ? await (await this.#gateway.authority()).keep() : null
    this.#authorityKept = authority !== null
    writeNetworkKeys(directory, { placeholders: this.#secrets.placeholders, authority })
  }

  /** What it has used of its budgets. */
  get used(): NetworkUse {
    return this.#gateway.used
  }

  /** Only where a budget makes it matter. */
  #keepUse(): void {
    this.saveUse()
    if (!this.#hasBudgets || this.#useTimer !== null) return
    this.#useTimer = setInterval(() => this.saveUse(), USE_KEPT_MS).unref()
  }

  get #hasBudgets(): boolean {
    return Object.keys(this.#gateway.policy.budgets).length > 0
  }

  /** Writes down what was used, where a budget makes it matter. */
  saveUse(): void {
    const { used } = this.#gateway
    const text = JSON.stringify(used)
    if (this.#directory === null || !this.#hasBudgets || text === this.#useKept) return
    writeNetworkUse(this.#directory, used)
    this.#useKept = text
  }

  /** For a machine that is being made. */
  async outfit(): Promise<Outfit> {
    const { empty, opens, policy } = this.#gateway
    this.#proxied = policy.proxy
    const environment = {
      // What it was given by name is its own.
      ...(policy.proxy ? EGRESS_PROXY_ENVIRONMENT : {}),
      ...this.#environment,
      ...this.#placeholders,
      ...(opens ? trustVariables(this.#environment) : {}),
    }
    if (empty && !this.#told) return { environment }
    this.#told = true
    // Nothing trusts an authority that is not written down, except in a sandbox that is still being made.
    if (opens && !this.#authorityKept && this.#directory !== null) await this.keepIn(this.#directory)
    const authority = opens ? (await this.#gateway.authority()).certificate : ''
    return { environment, network: { gateway: this.#gateway, authority } }
  }

  /** Tells a machine that runs: one that was taken up, or for which something has changed. */
  async tell(machine: Machine): Promise<void> {
    const proxied = this.#proxied
    const { environment, network } = await this.outfit()
    if (Object.keys(this.#placeholders).length > 0 || network?.authority || proxied || this.#proxied)
      await machine.setEnvironment(environment, this.#limits)
    if (network !== undefined) await machine.openNetwork(network)
  }

  /** One that is paused hears of it when it goes on. */
  async adopted(machine: Machine, paused: boolean): Promise<void> {
    this.#waits = paused
    if (!paused) await this.tell(machine)
  }

  async resumed(machine: Machine): Promise<void> {
    if (this.#waits) await this.adopted(machine, false)
  }

  /** A command will be started with this policy, which may need a look inside connections that so far passed unopened. */
  async expect(machine: Machine, policy: Policy): Promise<void> {
    if (this.#gateway.expect(new CompiledPolicy(policy))) await this.tell(machine)
  }

  /** In force at once, for connections that are under way too. The machine is still to be told. */
  setPolicy(policy: Policy): void {
    this.#gateway.setPolicy(new CompiledPolicy(policy))
    this.#keepUse()
  }

  /** Values and bindings are those of now, also for what is under way. Its programs notice nothing: what they hold stays. */
  async refreshSecrets(): Promise<void> {
    if (!this.#secrets.empty) this.#gateway.replaceSecrets(await this.#findSecrets())
  }

  /** Ends every connection. */
  close(): void {
    if (this.#useTimer !== null) clearInterval(this.#useTimer)
    this.#gateway.close()
  }
}

interface Kept {
  readonly placeholders: NetworkKeys['placeholders']
  readonly authority: CertificateAuthority | null
  readonly used: NetworkUse | null
}

async function keptIn(directory: string): Promise<Kept> {
  const used = readNetworkUse(directory)
  const keys = readNetworkKeys(directory)
  if (keys === null) return { placeholders: {}, authority: null, used }
  const authority = keys.authority === null ? null : await CertificateAuthority.restore(keys.authority)
  return { placeholders: keys.placeholders, authority, used }
}

async function secretsOf({ info, network }: UnownedRecord, options: GatewayOptions): Promise<Secret[]> {
  const names = new Set(network.secrets.map(({ secret }) => secret))
  return await Promise.all([...names].map((name) => find(name, info.id, options)))
}

/** By variable. */
function placeholders({ secrets: uses }: NetworkSpec, secrets: SandboxSecrets): Record<string, string> {
  return Object.fromEntries(
    uses.map(({ secret, env }) => [
      env ?? secret.replaceAll('-', '_'),
      secrets.all.find(({ name }) => name === secret)?.placeholder ?? '',
    ]),
  )
}

async function find(name: string, sandbox: SandboxId, { secrets }: GatewayOptions): Promise<Secret> {
  const secret = (await secrets?.(name, sandbox)) ?? null
  if (secret === null) throw new HearthError('secret_not_found', `there is no secret ${name}`)
  return secret
}
