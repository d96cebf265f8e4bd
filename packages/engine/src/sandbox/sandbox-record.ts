import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  HearthError,
  rungSchema,
  sandboxIdSchema,
  snapshotIdSchema,
  type SandboxId,
  type SandboxInfo,
} from '@hearth/contract'
import { z } from 'zod'
import { ownIdentity, type ProcessIdentity } from '../host/process-identity.ts'
import type { SnapshotManifest } from '../store/snapshot-manifest.ts'

/** What is written down about a sandbox before it runs, so that whoever comes after a crash knows what there is. */
export interface SandboxRecord {
  readonly info: SandboxInfo
  /** Name of the driver that can adopt it. */
  readonly driver: string
  readonly templateDigest: string
  /** What it was configured with, and its copies are. */
  readonly configuration: SandboxConfiguration
  readonly owner: ProcessIdentity
}

export type SandboxConfiguration = SnapshotManifest['configuration']

/** All of a record but whose it is. */
export type UnownedRecord = Omit<SandboxRecord, 'owner'>

const date = z.coerce.date()
const recordSchema = z.object({
  info: z.object({
    id: sandboxIdSchema,
    state: z.enum(['running', 'ended']),
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
  }),
  driver: z.string(),
  // A record of an older Hearth lacks them; its sandbox can still be adopted and ended.
  templateDigest: z.string().default(''),
  configuration: z
    .object({
      hostname: z.string(),
      environment: z.record(z.string(), z.string()),
      workdir: z.string(),
      user: z.string(),
    })
    .default({ hostname: '', environment: {}, workdir: '/', user: '' }),
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
  const { info, driver, templateDigest, configuration } = unowned
  const record: SandboxRecord = { info, driver, templateDigest, configuration, owner }
  const temporary = join(directory, `${FILE}.new`)
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 })
  renameSync(temporary, join(directory, FILE))
  // What a keeper reads when no engine is there any more to end its sandbox.
  writeFileSync(join(directory, 'deadline'), String(info.expiresAt.getTime()), { mode: 0o600 })
}

/** Null when there is none; throws when it is not one of ours. */
export async function readRecord(directory: string): Promise<SandboxRecord | null> {
  let text: string
  try {
    text = await readFile(join(directory, FILE), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw cause
  }
  const parsed = recordSchema.safeParse(JSON.parse(text))
  if (!parsed.success)
    throw new HearthError('internal', `${directory} has a record that cannot be read`, { cause: parsed.error })
  return parsed.data
}

export async function listRecords(root: string): Promise<SandboxRecord[]> {
  const names = await readdir(root).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const records = await Promise.all(
    names.toSorted((one, other) => (one < other ? -1 : 1)).map((name) => readRecord(join(root, name))),
  )
  return records.filter((record) => record !== null)
}
