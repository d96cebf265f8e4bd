import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  HearthError,
  policySchema,
  rungSchema,
  sandboxIdSchema,
  secretUseSchema,
  snapshotIdSchema,
  volumeMountSchema,
  type SandboxId,
  type SandboxInfo,
  type SnapshotId,
} from '@hearth/contract'
import { z } from 'zod'
import type { OnProblem } from '../host/in-background.ts'
import { ownIdentity, type ProcessIdentity } from '../host/process-identity.ts'
import { KEPT_NETWORK_FILES } from './kept-network.ts'
import type { NetworkSpec } from './sandbox-network.ts'
import type { SnapshotManifest } from '../store/snapshot-manifest.ts'

/** What is written down about a sandbox before it runs, so that whoever comes after a crash knows what there is. */
export interface SandboxRecord {
  readonly info: SandboxInfo
  /** Name of the driver that can adopt it. */
  readonly driver: string
  readonly templateDigest: string
  /** Which tools of the host its processes use; null when it has a root of its own. */
  readonly hostTools: string | null
  /** What it was configured with, and its copies are. */
  readonly configuration: SandboxConfiguration
  /** What it may reach, and the secrets that it uses. */
  readonly network: NetworkSpec
  /** Of one that sleeps, or is being put to sleep. The snapshot is named before it is made, so that nobody takes it for a leftover. */
  readonly sleep: Sleep | null
  /** The snapshot of its last sleep, where its files lie on those. */
  readonly liesOn: SnapshotId | null
  readonly owner: ProcessIdentity
}

/** Where a sandbox sleeps, and whether its processes do, or why not. */
export interface Sleep {
  readonly snapshot: SnapshotId
  readonly memory: boolean
  readonly reason: string | null
}

export type SandboxConfiguration = SnapshotManifest['configuration']

/** All of a record but whose it is. */
export type UnownedRecord = Omit<SandboxRecord, 'owner'>

const date = z.coerce.date()
const recordSchema = z.object({
  info: z.object({
    id: sandboxIdSchema,
    state: z.enum(['running', 'hibernated', 'ended']),
    rung: rungSchema,
    driver: z.string(),
    template: z.string(),
    createdAt: date,
    expiresAt: date,
    parent: sandboxIdSchema.nullable(),
    origin: snapshotIdSchema.nullable().default(null),
    metadata: z.record(z.string(), z.string()),
    limits: z.object({
      cpus: z.number(),
      memoryBytes: z.number(),
      pids: z.number(),
      diskBytes: z.number(),
      openFiles: z.number(),
      outputBytes: z.number(),
      wallTimeMs: z.number(),
    }),
    volumes: z.array(volumeMountSchema).default([]),
  }),
  driver: z.string(),
  // A record of an older Hearth lacks them; its sandbox can still be adopted and ended.
  templateDigest: z.string().default(''),
  hostTools: z.string().nullable().default(null),
  configuration: z
    .object({
      hostname: z.string(),
      environment: z.record(z.string(), z.string()),
      workdir: z.string(),
      user: z.string(),
    })
    .default({ hostname: '', environment: {}, workdir: '/', user: '' }),
  network: z
    .object({ policy: policySchema, secrets: z.array(secretUseSchema), ownHearth: z.boolean().default(false) })
    .default({ policy: {}, secrets: [], ownHearth: false }),
  sleep: z
    .object({ snapshot: snapshotIdSchema, memory: z.boolean(), reason: z.string().nullable() })
    .nullable()
    .default(null),
  liesOn: snapshotIdSchema.nullable().default(null),
  owner: z.object({ pid: z.int(), startTime: z.string() }),
})

const FILE = 'sandbox.json'

export function sandboxDirectory(root: string, id: SandboxId): string {
  return join(root, id)
}

// What follows is synchronous: each file takes microseconds, the way through the thread pool a good part of a millisecond.

/** The directory with its record in it; when the record cannot be written, neither is there. */
export function makeSandboxDirectory(root: string, record: UnownedRecord): string {
  mkdirSync(root, { recursive: true, mode: 0o700 })
  const directory = sandboxDirectory(root, record.info.id)
  mkdirSync(directory, { mode: 0o700 })
  try {
    writeRecord(directory, record)
  } catch (error) {
    rmSync(directory, { recursive: true, force: true })
    throw error
  }
  return directory
}

/** No process has this number. */
const NOBODY: ProcessIdentity = { pid: 0, startTime: '' }

/** Anybody may adopt it from now on. One that is gone needs no word. */
export function disownRecord(directory: string, record: UnownedRecord): void {
  try {
    writeRecord(directory, record, NOBODY)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

/** Writes it in one step, with this process as the owner. */
export function writeRecord(directory: string, unowned: UnownedRecord, owner = ownIdentity()): void {
  const { info, driver, templateDigest, hostTools, configuration, network, sleep, liesOn } = unowned
  const about = { info, driver, templateDigest, hostTools, configuration }
  const record: SandboxRecord = { ...about, network, sleep, liesOn, owner }
  const temporary = join(directory, `${FILE}.new`)
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 })
  renameSync(temporary, join(directory, FILE))
  // One that sleeps has no keeper, unless somebody is waking it.
  if (info.state === 'hibernated' && owner === NOBODY) return
  // What a keeper reads when no engine is there any more to end its sandbox.
  writeFileSync(join(directory, 'deadline'), String(info.expiresAt.getTime()), { mode: 0o600 })
}

/** As `writeRecord`, and after a loss of power it is still so. */
export function writeDurably(directory: string, record: UnownedRecord): void {
  writeRecord(directory, record)
  for (const path of [join(directory, FILE), directory]) {
    const file = openSync(path, 'r')
    try {
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }
}

/** Whether the sandbox of that directory sleeps. One whose record a crash has cut off does not; throws when it cannot be read. */
export function isAsleep(directory: string): boolean {
  try {
    const record = JSON.parse(readFileSync(join(directory, FILE), 'utf8')) as { info?: { state?: unknown } } | null
    return record?.info?.state === 'hibernated'
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/** Removes all that is in the directory of a sandbox, and itself; the record of one that sleeps stays, with the keys of its network. */
export async function clearDirectory(directory: string): Promise<void> {
  if (!isAsleep(directory)) return await rm(directory, { recursive: true, force: true })
  const kept: readonly string[] = [FILE, ...KEPT_NETWORK_FILES]
  const names = (await readdir(directory)).filter((name) => !kept.includes(name))
  await Promise.all(names.map((name) => rm(join(directory, name), { recursive: true, force: true })))
}

/** The record of a sandbox that sleeps. */
export type SleepingRecord = SandboxRecord & { readonly sleep: Sleep }

export function sleeps(record: SandboxRecord): record is SleepingRecord {
  return record.info.state === 'hibernated' && record.sleep !== null
}

/** The snapshots that a sandbox needs; what lies on top of another comes first. */
export function snapshotsOf({ info, sleep, liesOn }: UnownedRecord): SnapshotId[] {
  return [sleep?.snapshot ?? null, liesOn, info.origin].filter((id) => id !== null)
}

/** What the record of a directory says. */
export type FoundRecord =
  | { readonly kind: 'record'; readonly record: SandboxRecord }
  | { readonly kind: 'none' }
  /** Empty, or no JSON: a host that lost its power kept the name without all of the content. */
  | { readonly kind: 'damaged'; readonly error: HearthError }
  /** The sandbox may well be whole: the host cannot read the record now, or another version of Hearth wrote it. */
  | { readonly kind: 'unknown'; readonly error: unknown }

/** Tells what a crash has left from what only cannot be read: the one may be removed, the other never. */
export async function findRecord(directory: string): Promise<FoundRecord> {
  let text: string
  try {
    text = await readFile(join(directory, FILE), 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? { kind: 'none' } : { kind: 'unknown', error }
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (cause) {
    const suggestion = 'Remove the sandbox, or wait: the next sweep does when nothing of it runs.'
    const message = `the record in ${directory} was cut off by a crash`
    return { kind: 'damaged', error: new HearthError('internal', message, { cause, suggestion }) }
  }
  const parsed = recordSchema.safeParse(content)
  if (parsed.success) return { kind: 'record', record: parsed.data }
  const message = `the record in ${directory} cannot be understood by this version of Hearth`
  const suggestion = 'Use the version that made the sandbox, or remove the sandbox.'
  return { kind: 'unknown', error: new HearthError('internal', message, { cause: parsed.error, suggestion }) }
}

/** Null when there is none; throws when it cannot be read. */
export async function readRecord(directory: string): Promise<SandboxRecord | null> {
  const found = await findRecord(directory)
  if (found.kind === 'record') return found.record
  if (found.kind === 'none') return null
  throw found.error
}

/** All of them, or none: for who removes what no record names. */
export async function listAllRecords(root: string): Promise<SandboxRecord[]> {
  return await listRecords(root, (_, error) => {
    throw error
  })
}

/** Those that can be read; what is wrong with others is told. */
export async function listRecords(root: string, onProblem: OnProblem): Promise<SandboxRecord[]> {
  const names = await readdir(root).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const ids = names.filter((name) => sandboxIdSchema.safeParse(name).success)
  const sorted = ids.toSorted((one, other) => (one < other ? -1 : 1))
  const found = await Promise.all(sorted.map((name) => findRecord(join(root, name))))
  return found.flatMap((each, index) => {
    if (each.kind === 'record') return [each.record]
    if (each.kind !== 'none') onProblem(`reading the record of ${sorted[index]}`, each.error)
    return []
  })
}
