import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, type SnapshotId } from '@hearth/contract'
import { isAlive, ownIdentity } from '../host/process-identity.ts'
import { snapshotManifestSchema, type SnapshotManifest } from './snapshot-manifest.ts'

export const MANIFEST = 'manifest.json'
const OWNER = 'draft'
/** Between a directory and the note of its owner there is a moment. */
export const GRACE_MS = 60_000

// Synchronous where a fork waits for it: each file takes microseconds, the way through the thread pool a good part of a millisecond.

/** Notes that this process is working on a directory that has no manifest, or is about to lose it. */
export function claimDraft(directory: string): void {
  const { pid, startTime } = ownIdentity()
  writeFileSync(join(directory, OWNER), `${pid} ${startTime}`, { mode: 0o600 })
}

export function releaseDraft(directory: string): void {
  rmSync(join(directory, OWNER), { force: true })
}

/** Whether somebody who lives works on it. */
export async function isDraftOwned(directory: string, graceMs = GRACE_MS): Promise<boolean> {
  const text = await readFile(join(directory, OWNER), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [, pid, startTime] = /^(\d+) (\d+)$/.exec(text) ?? []
  if (pid !== undefined && startTime !== undefined) return isAlive({ pid: Number(pid), startTime })
  const made = await stat(directory).catch(() => null)
  return made !== null && Date.now() - made.mtimeMs < graceMs
}

/** It appears at once; `durable` also after a loss of power. */
export async function writeManifest(directory: string, manifest: SnapshotManifest, durable: boolean): Promise<void> {
  const draft = join(directory, `${MANIFEST}.new`)
  if (durable) await writeDurably(draft, JSON.stringify(manifest))
  else writeFileSync(draft, JSON.stringify(manifest), { mode: 0o600 })
  renameSync(draft, join(directory, MANIFEST))
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function retract(directory: string): Promise<void> {
  await rm(join(directory, MANIFEST), { force: true })
}

/** Null when there is none, so that it is no snapshot yet or no longer. Throws when it is not ours. */
export async function readManifest(directory: string, id: SnapshotId): Promise<SnapshotManifest | null> {
  const text = await readFile(join(directory, MANIFEST), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  const parsed = parseManifest(text)
  if (parsed?.info.id !== id) throw new HearthError('snapshot_corrupt', `the manifest of snapshot ${id} is damaged`)
  return parsed
}

/** Null when it is not one, for example of another version. */
export function parseManifest(text: string): SnapshotManifest | null {
  try {
    return snapshotManifestSchema.safeParse(JSON.parse(text)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
