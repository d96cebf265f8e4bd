import { existsSync, readdirSync, rmSync } from 'node:fs'
import { ensureStore, Hearth, removeStore } from '@hearth/engine'
import type { Rung } from '@hearth/contract'

/** Makes the store that forks are fast on, small, and what the first sandbox of a home waits for. */
export async function makeSmallStore(home: string, rung: Rung): Promise<void> {
  await using hearth = new Hearth({ home, spareKeepers: 0 })
  await ensureStore(hearth.paths, { ...process.env, HEARTH_STORE_SIZE: '512M' })
  await (await hearth.create({ rung, template: 'host' })).kill()
}

export async function removeSmallStore(home: string): Promise<void> {
  await removeStore(new Hearth({ home }).paths)
  rmSync(home, { recursive: true, force: true })
}

/** The names in a directory; none where there is no such directory. */
export function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}
