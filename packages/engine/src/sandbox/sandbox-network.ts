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
import type { Machine, MachineNetwork } from '../machine/machine.ts'
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
  readonly #limits: Limits
  /** The machine was told, and must be told of changes. */
  #told = false
  /** It was taken up while it was paused, and does not know of this network yet. */
  #waits = false

  private constructor(record: UnownedRecord, options: GatewayOptions, found: readonly Secret[]) {
    const { info, configuration, network } = record
    const secrets = new SandboxSecrets(found)
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
      ownHearth: serve === null ? null : (connection) => serve(info.id, connection),
    })
  }

  /** With placeholders and an authority of its own, that no other sandbox and no earlier life of this one has. */
  static async create(record: UnownedRecord, options: GatewayOptions): Promise<SandboxNetwork> {
    const { id } = record.info
    const names = new Set(record.network.secrets.map(({ secret }) => secret))
    return new SandboxNetwork(record, options, await Promise.all([...names].map((name) => find(name, id, options))))
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
