import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ensureStore, Hearth, hostPaths, removeStore } from '@hearth/engine'
import type { Rung } from '@hearth/contract'

/** What the tests of small stores run over. */
export interface SmallStep {
  readonly rung: Rung
  readonly template: string
}

/** Makes the store that forks are fast on, small, and what the first sandbox of a home waits for. */
export async function makeSmallStore(home: string, { rung, template }: SmallStep): Promise<void> {
  if (template !== 'host') await shareTemplate(home, template)
  await using hearth = new Hearth({ home, spareKeepers: 0 })
  // A machine that was booted once lies in it too.
  await ensureStore(hearth.paths, { ...process.env, HEARTH_STORE_SIZE: rung === 'microvm' ? '1G' : '512M' })
  await (await hearth.create({ rung, template })).kill()
}

/** Roots, and what a kernel of its own boots from, are those of the tests: making them takes minutes. */
export async function shareTemplate(home: string, template: string): Promise<void> {
  const own = hostPaths()
  {
    await using engine = new Hearth({ spareKeepers: 0 })
    await engine.templates.resolve(template, {})
  }
  mkdirSync(join(home, 'cache'), { recursive: true })
  symlinkSync(own.templates, join(home, 'templates'))
  const there = list(join(home, 'cache'))
  for (const name of readdirSync(own.cache))
    if (!there.includes(name)) symlinkSync(join(own.cache, name), join(home, 'cache', name))
}

export async function removeSmallStore(home: string): Promise<void> {
  await removeStore(new Hearth({ home }).paths)
  rmSync(home, { recursive: true, force: true })
}

/** The names in a directory; none where there is no such directory. */
export function list(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}
