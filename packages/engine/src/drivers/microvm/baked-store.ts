import { writeFileSync } from 'node:fs'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isAlive, ownIdentity } from '../../host/process-identity.ts'

/** What a baked machine was made of, and by whom. */
const FILE = 'origin'
/** Between a directory and its note there is a moment. */
const GRACE_MS = 60_000

const originSchema = z.object({
  /** Of its template. */
  root: z.string(),
  /** Programs and images that its memory holds the state of. */
  files: z.array(z.object({ path: z.string(), state: z.string() })),
  maker: z.object({ pid: z.int(), startTime: z.string() }),
})

/** Where the baked machines of a store lie. */
export function bakedDirectory(store: string): string {
  return join(store, 'baked')
}

/** Notes what a machine that is about to be baked depends on, so that it goes when any of it does. */
export async function writeOrigin(directory: string, root: string, paths: readonly string[]): Promise<void> {
  const files = await Promise.all(paths.map(async (path) => ({ path, state: (await stateOf(path)) ?? '' })))
  writeFileSync(join(directory, FILE), JSON.stringify({ root, files, maker: ownIdentity() }), { mode: 0o600 })
}

/**
 * Removes those that nothing goes on from any more: their template, guest, kernel or QEMU is gone or another, or who made them died before they
 * were whole; and those that were not used for longest, beyond `most`. A machine that goes on from one has its memory open. Their names.
 */
export async function collectBaked(store: string, most: number): Promise<string[]> {
  const parent = bakedDirectory(store)
  const found = await Promise.all((await list(parent)).map((name) => look(parent, name)))
  const usable = found.filter(({ use }) => use === 'ready').toSorted((one, other) => other.usedMs - one.usedMs)
  const gone = [...found.filter(({ use }) => use === 'none'), ...usable.slice(most)].map(({ name }) => name)
  for (const name of gone) await rm(join(parent, name), { recursive: true, force: true })
  return gone
}

interface Baked {
  readonly name: string
  readonly use: 'ready' | 'making' | 'none'
  readonly usedMs: number
}

async function look(parent: string, name: string): Promise<Baked> {
  const directory = join(parent, name)
  const usedMs = (await stat(directory).catch(() => null))?.mtimeMs ?? 0
  const origin = await readOrigin(directory)
  // A name with a dot is of one that is being made, or was when its maker died.
  if (name.includes('.')) {
    const young = origin === null && Date.now() - usedMs < GRACE_MS
    return { name, usedMs, use: young || (origin !== null && isAlive(origin.maker)) ? 'making' : 'none' }
  }
  return { name, usedMs, use: origin !== null && (await isCurrent(origin)) ? 'ready' : 'none' }
}

async function isCurrent({ root, files }: z.output<typeof originSchema>): Promise<boolean> {
  if ((await stateOf(root)) === null) return false
  const states = await Promise.all(files.map(async ({ path, state }) => (await stateOf(path)) === state))
  return !states.includes(false)
}

/** Tells one state of a file from another; null when it is gone. */
async function stateOf(path: string): Promise<string | null> {
  const status = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw error
  })
  return status === null ? null : `${status.size} ${status.mtimeMs}`
}

async function readOrigin(directory: string): Promise<z.output<typeof originSchema> | null> {
  const text = await readFile(join(directory, FILE), 'utf8').catch(() => '')
  try {
    return originSchema.safeParse(JSON.parse(text)).data ?? null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

async function list(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
