import {
  HearthError,
  OWN_HEARTH_ENVIRONMENT,
  type Limits,
  type Policy,
  type SandboxId,
  type Secret,
  type SecretUse,
} from '@hearth/contract'
import { Dialer } from '../gateway/dial/dialer.ts'
import type { GatewayOptions } from '../gateway/gateway-options.ts'
import { CompiledPolicy } from '../gateway/policy/compiled-policy.ts'
import { SandboxGateway } from '../gateway/sandbox-gateway.ts'
import { SandboxSecrets } from '../gateway/secrets/sandbox-secrets.ts'
import { CertificateAuthority } from '../gateway/tls/authority.ts'
import type { Machine, MachineNetwork } from '../machine/machine.ts'
import { readNetworkKeys, writeNetworkKeys, type NetworkKeys } from './kept-network.ts'
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
  readonly #limits: Limits
  /** The machine was told, and must be told of changes. */
  #told = false
  /** Where its keys are kept for its later lives; null until there is such a place. */
  #directory: string | null
  /** What is written there has an authority. */
  #authorityKept: boolean
  /** It was taken up while it was paused, and does not know of this network yet. */
  #waits = false

  private constructor(record: UnownedRecord, options: GatewayOptions, found: readonly Secret[], kept: Kept | null) {
    const { info, configuration, network } = record
    const secrets = new SandboxSecrets(found, new Map(Object.entries(kept?.placeholders ?? {})))
    this.#secrets = secrets
    this.#directory = kept?.directory ?? null
    this.#authorityKept = (kept?.authority ?? null) !== null
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
      authority: kept?.authority ?? null,
      ownHearth: serve === null ? null : (connection) => serve(info.id, connection),
    })
  }

  /** Of a new sandbox, also of a copy: with placeholders and an authority that no other sandbox has. */
  static async create(record: UnownedRecord, options: GatewayOptions): Promise<SandboxNetwork> {
    return new SandboxNetwork(record, options, await secretsOf(record, options), null)
  }

  /** Of one that was there before, with what its programs hold. */
  static async again(record: UnownedRecord, options: GatewayOptions, directory: string): Promise<SandboxNetwork> {
    const [found, kept] = await Promise.all([secretsOf(record, options), keptIn(directory)])
    const network = new SandboxNetwork(record, options, found, kept)
    await network.keepIn(directory)
    return network
  }

  /** From now on what its programs hold is written down here. */
  async keepIn(directory: string): Promise<void> {
    this.#directory = directory
    const { opens } = this.#gateway
    if (!opens && this.#secrets.empty) return
    const authority = opens ? await (await this.#gateway.authority()).keep() : null
    this.#authorityKept = authority !== null
    writeNetworkKeys(directory, { placeholders: this.#secrets.placeholders, authority })
  }

  /** For a machine that is being made. */
  async outfit(): Promise<Outfit> {
    const { empty, opens } = this.#gateway
    const environment = {
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
    const { environment, network } = await this.outfit()
    if (Object.keys(this.#placeholders).length > 0 || network?.authority)
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
  }

  /** Ends every connection. */
  close(): void {
    this.#gateway.close()
  }
}

interface Kept {
  readonly directory: string
  readonly placeholders: NetworkKeys['placeholders']
  readonly authority: CertificateAuthority | null
}

async function keptIn(directory: string): Promise<Kept | null> {
  const keys = readNetworkKeys(directory)
  if (keys === null) return null
  const authority = keys.authority === null ? null : await CertificateAuthority.restore(keys.authority)
  return { directory, placeholders: keys.placeholders, authority }
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
