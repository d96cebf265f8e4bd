import {
  BOUNDS,
  createFromSchema,
  DEFAULT_LIMITS,
  HearthError,
  parseInput,
  type CreateFrom,
  type Limits,
  type Rung,
  type SandboxSpec,
} from '@hearth/contract'
import type { z } from 'zod'
import type { Capabilities } from '../drivers/driver.ts'
import type { DriverRegistry } from '../drivers/registry.ts'
import { selectDriver } from '../drivers/select-driver.ts'
import type { TemplateStore } from '../templates/template-store.ts'
import type { Progress } from '../templates/template.ts'
import { basisOf, definedOnly, describeFrom, type Basis } from './create-from.ts'
import type { Prepared } from './launcher.ts'
import type { UnownedRecord } from './sandbox-record.ts'
import type { Snapshots } from './snapshots.ts'

/** What a create of a spec would get here. */
export interface Plan {
  readonly rung: Rung
  /** For example `crun 1.8.1`. */
  readonly driver: string
  readonly template: string
  readonly limits: Limits
  readonly capabilities: Capabilities
}

interface PreparationParts {
  readonly registry: () => Promise<DriverRegistry>
  readonly templates: TemplateStore
  readonly snapshots: Snapshots
}

type Spec = z.output<typeof createFromSchema>
type Chosen = ReturnType<typeof selectDriver>

/** Decides what a sandbox will be, before anything of it is made. */
export class Preparation {
  readonly #parts: PreparationParts

  constructor(parts: PreparationParts) {
    this.#parts = parts
  }

  async prepare(
    spec: CreateFrom,
    options: { readonly signal?: AbortSignal; readonly onProgress?: Progress },
  ): Promise<Prepared> {
    const wanted = parseInput(createFromSchema, spec, 'spec')
    const prepared = wanted.from === undefined ? await this.#fromTemplate(wanted, options) : await this.#from(wanted)
    options.signal?.throwIfAborted()
    requireVolumes(wanted, prepared)
    return prepared
  }

  async plan(spec: CreateFrom): Promise<Plan> {
    const wanted = parseInput(createFromSchema, spec, 'spec')
    const chosen = await (wanted.from === undefined ? this.#plan(wanted) : this.#from(wanted))
    const { driver, probe, name, limits } = chosen
    requireVolumes(wanted, chosen)
    return { rung: driver.rung, driver: probe.label, template: name, limits, capabilities: probe.capabilities }
  }

  /** What a sandbox like this one is made of. */
  async like(record: UnownedRecord): Promise<Basis> {
    return await basisOf(await this.#parts.registry(), this.#parts.templates, record, record.driver)
  }

  async #from(spec: Spec): Promise<Prepared & { name: string }> {
    const { registry, templates, snapshots } = this.#parts
    const snapshot = await snapshots.stored(spec.from ?? '')
    const described = describeFrom(snapshot, spec)
    const basis = await basisOf(await registry(), templates, snapshot.manifest, null)
    return { ...described, ...basis, name: basis.template.name }
  }

  async #fromTemplate(
    spec: Spec,
    options: { readonly signal?: AbortSignal; readonly onProgress?: Progress },
  ): Promise<Prepared> {
    const { driver, probe, name, limits } = await this.#plan(spec)
    const template = await this.#parts.templates.resolve(name, options)
    return {
      driver,
      probe,
      template,
      from: null,
      parent: null,
      limits,
      configuration: {
        hostname: spec.hostname ?? null,
        environment: { ...template.environment, ...spec.env },
        workdir: spec.workdir ?? template.workdir ?? '/',
        user: spec.user ?? (probe.capabilities.users ? (template.user ?? '') : ''),
      },
      expiresAt: new Date(Date.now() + (spec.ttlMs ?? BOUNDS.defaultTtlMs)),
      metadata: spec.metadata ?? {},
      network: { policy: spec.policy ?? {}, secrets: spec.secrets ?? [], ownHearth: false },
      volumes: spec.volumes ?? [],
    }
  }

  async #plan(spec: SandboxSpec): Promise<Chosen & { name: string; limits: Limits }> {
    const { driver, probe } = await this.#select(await this.#parts.registry(), spec)
    const name = spec.template ?? (probe.capabilities.hostTemplate ? 'host' : 'debian')
    return { driver, probe, name, limits: { ...DEFAULT_LIMITS, ...definedOnly(spec.limits ?? {}) } }
  }

  async #select(registry: DriverRegistry, spec: SandboxSpec): Promise<Chosen> {
    const demand = { rung: spec.rung, atLeast: spec.atLeast, hostTemplate: (spec.template ?? 'host') === 'host' }
    // A named rung need not wait for the others to be probed.
    const probed =
      spec.rung === undefined
        ? await registry.probeAll()
        : await Promise.all(
            registry.drivers
              .filter((driver) => driver.rung === spec.rung)
              .map(async (driver) => ({ driver, probe: await driver.probe() })),
          )
    return selectDriver(probed, demand)
  }
}

/** A sandbox without a volume that was asked for would lose what is written there. */
function requireVolumes({ volumes = [] }: Spec, { driver, probe }: Pick<Chosen, 'driver' | 'probe'>): void {
  if (volumes.length === 0 || probe.capabilities.volumes) return
  throw new HearthError('capability_unsupported', `${probe.label} on the rung ${driver.rung} has no volumes`, {
    suggestion: 'Choose another rung; `hearth doctor --json` says which have volumes.',
  })
}
