import {
  BOUNDS,
  HearthError,
  isAtLeast,
  memoryOutcome,
  memoryRefused,
  type createFromSchema,
  type Limits,
  type MemoryMode,
  type MemoryOutcome,
  type Rung,
} from '@hearth/contract'
import type { z } from 'zod'
import type { DriverRegistry } from '../drivers/registry.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { TemplateStore } from '../templates/template-store.ts'
import type { Prepared } from './launcher.ts'

/** What a sandbox stands on. */
export type Basis = Pick<Prepared, 'driver' | 'probe' | 'template'>

/** What was written down about a sandbox or its snapshot. */
interface Captured {
  readonly info: { readonly id: string; readonly rung: Rung; readonly template: string }
  readonly templateDigest: string
}

/** The driver and the template of a captured sandbox, as this host has them now. */
export async function basisOf(
  registry: DriverRegistry,
  templates: TemplateStore,
  { info: { id, rung, template: name }, templateDigest }: Captured,
  driverName: string | null,
): Promise<Basis> {
  const template = await templates.pinned(name, templateDigest)
  if (template === null) {
    throw new HearthError(
      'snapshot_incompatible',
      `${id} lies on another ${name} than there is here: its digest was ${templateDigest}`,
    )
  }
  const reasons: string[] = []
  for (const driver of registry.drivers) {
    if (driver.rung !== rung || (driverName !== null && driver.name !== driverName)) continue
    const probe = await driver.probe()
    if (probe.available && probe.capabilities.snapshots) return { driver, probe, template }
    reasons.push(`${driver.name}: ${probe.available ? 'it has no snapshots' : probe.reason}`)
  }
  throw new HearthError('rung_unavailable', `${id} needs the rung ${rung}: ${reasons.join('; ')}`)
}

type Spec = z.output<typeof createFromSchema>

/** What a sandbox of a snapshot will be: as the one that was captured, except for what the caller says. */
export function describeFrom(snapshot: StoredSnapshot, spec: Spec): Omit<Prepared, keyof Basis> {
  refuseOther(snapshot, spec)
  const { info, configuration } = snapshot.manifest
  return {
    from: withMemory(withVolumes(snapshot, spec), spec.memory ?? 'auto'),
    parent: null,
    limits: { ...info.limits, ...(definedOnly(spec.limits ?? {}) as Partial<Limits>) },
    configuration: {
      hostname: spec.hostname ?? null,
      environment: { ...configuration.environment, ...spec.env },
      workdir: spec.workdir ?? configuration.workdir,
      user: spec.user ?? configuration.user,
    },
    expiresAt: new Date(Date.now() + (spec.ttlMs ?? BOUNDS.defaultTtlMs)),
    metadata: spec.metadata ?? {},
    // What a snapshot may have been allowed is not for its copies, which may come from elsewhere.
    network: { policy: spec.policy ?? {}, secrets: spec.secrets ?? [], ownHearth: false },
    volumes: spec.volumes ?? [],
  }
}

function refuseOther({ id, manifest: { info } }: StoredSnapshot, spec: Spec): void {
  const differs = (what: string, wanted: string, is: string): HearthError =>
    new HearthError('snapshot_incompatible', `snapshot ${id} has the ${what} ${is}, and ${wanted} was asked for`)
  if (spec.rung !== undefined && spec.rung !== info.rung) throw differs('rung', spec.rung, info.rung)
  if (spec.atLeast !== undefined && !isAtLeast(info.rung, spec.atLeast))
    throw differs('rung', `at least ${spec.atLeast}`, info.rung)
  if (spec.template !== undefined && spec.template !== info.template)
    throw differs('template', spec.template, info.template)
}

/** Processes that had volumes go on only where there are some again: what they have open lies there. */
function withVolumes(snapshot: StoredSnapshot, { volumes = [], memory }: Spec): StoredSnapshot {
  const { manifest } = snapshot
  const had = manifest.volumes.map(({ path }) => path)
  const has = volumes.map(({ path }) => path)
  if (manifest.memory === null || (had.length === has.length && had.every((path) => has.includes(path))))
    return snapshot
  const places = had.length === 0 ? 'no volumes' : `volumes at ${had.join(', ')} alone`
  const reason = `its processes had ${places}`
  if (memory === 'required') throw memoryRefused(reason)
  return memory === 'none' ? snapshot : filesOf(snapshot, reason)
}

/** As much of a snapshot as is wanted; `memory_unsupported` when there is less. */
export function withMemory(snapshot: StoredSnapshot, mode: MemoryMode): StoredSnapshot {
  const { manifest } = snapshot
  if (mode === 'required' && manifest.memory === null) throw memoryRefused(`snapshot ${snapshot.id} has files only`)
  return mode === 'none' && manifest.memory !== null ? filesOf(snapshot, 'files alone were asked for') : snapshot
}

function filesOf(snapshot: StoredSnapshot, filesAlone: string): StoredSnapshot {
  return { ...snapshot, manifest: { ...snapshot.manifest, memory: null, interpreters: [] }, filesAlone }
}

/** Whether the processes of a snapshot go on in what is made of it; null without a snapshot. */
export function restoredFrom(from: StoredSnapshot | null): MemoryOutcome | null {
  if (from === null) return null
  return memoryOutcome(from.manifest.memory !== null, from.filesAlone ?? `snapshot ${from.id} has files only`)
}

/** Without what is undefined, which would hide a default. */
export function definedOnly<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>
  }
}
