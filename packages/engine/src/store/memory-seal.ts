import { createHash } from 'node:crypto'
import { createReadStream, existsSync, renameSync, writeFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { inBackground, type OnProblem } from '../host/in-background.ts'
import { MANIFEST } from './snapshot-files.ts'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import { writeOut } from './written-out.ts'

const SEAL = 'memory.json'
const CHUNK_BYTES = 1024 * 1024

/** What each file of a snapshot's memory was when it was taken. */
const sealSchema = z.record(z.string(), z.object({ bytes: z.int().min(0), sha256: z.string() }))
export type MemorySeal = z.output<typeof sealSchema>

/**
 * Writes a new snapshot out, reads its memory once and notes its checksums. Nobody waits for it: until it is done a loss of power can tear it, and
 * the memory cannot be checked.
 */
export function finishInBackground(directory: string, manifest: SnapshotManifest, onProblem: OnProblem): Promise<void> {
  // `check` makes up for what could not be done.
  return inBackground(`writing out ${directory}`, () => finishUnlessRemoved(directory, manifest), onProblem)
}

/** A snapshot that is removed meanwhile needs nothing. */
async function finishUnlessRemoved(directory: string, manifest: SnapshotManifest): Promise<void> {
  try {
    await writeOut(directory, manifest)
    if (manifest.memory !== null) await sealMemory(directory)
  } catch (error) {
    if (existsSync(join(directory, MANIFEST))) throw error
  }
}

export async function sealMemory(directory: string): Promise<MemorySeal> {
  const seal = await hashMemory(join(directory, 'memory'))
  // In one go: a snapshot loses its manifest before it is removed, and nothing may appear in its directory after that.
  if (existsSync(join(directory, MANIFEST))) {
    const draft = join(directory, `${SEAL}.new`)
    writeFileSync(draft, JSON.stringify(seal), { mode: 0o600 })
    renameSync(draft, join(directory, SEAL))
  }
  return seal
}

/** Null when there is none yet, or it cannot be read. */
export async function readSeal(directory: string): Promise<MemorySeal | null> {
  const text = await readFile(join(directory, SEAL), 'utf8').catch(() => null)
  try {
    return text === null ? null : (sealSchema.safeParse(JSON.parse(text)).data ?? null)
  } catch {
    return null
  }
}

export async function hashMemory(directory: string): Promise<MemorySeal> {
  const seal: Record<string, MemorySeal[string]> = {}
  for (const name of (await readdir(directory)).toSorted()) {
    const path = join(directory, name)
    const hash = createHash('sha256')
    const { size } = await stat(path)
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) hash.update(chunk as Buffer)
    seal[name] = { bytes: size, sha256: hash.digest('hex') }
  }
  return seal
}
