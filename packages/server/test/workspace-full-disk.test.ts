import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ensureStore, hostPaths, removeStore } from '@hearth/engine'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome } from '../src/lifecycle/test-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const MiB = 1024 * 1024
const root = process.getuid?.() === 0

/** Takes the room that there is, down to the last page. */
function fill(directory: string): string[] {
  const paths: string[] = []
  for (let size = 8 * MiB; size >= 4096;) {
    if (statfsSync(directory).bavail === 0 && size > MiB) size = MiB
    paths.push(join(directory, `filler-${paths.length}`))
    try {
      writeFileSync(paths.at(-1) ?? '', Buffer.alloc(size, 7), { flush: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size /= 8
    }
  }
  return paths
}

it.skipIf(!root)(
  'a workspace stays whole on a full disk, and its change is still found',
  { timeout: 120_000 },
  async () => {
    using upstream = new Upstream()
    await using home = await TestHome.make()
    const paths = hostPaths({ HEARTH_HOME: home.path })
    await ensureStore(paths, { ...process.env, HEARTH_STORE_SIZE: '256M' })
    try {
      await using server = await home.start()
      const caller: Caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces']) }
      const call = { idempotencyKey: null, signal: NEVER }
      const { id: workspace } = await server.plane.workspaces.create(caller, { path: upstream.path }, call)
      const { id } = await server.create({ workspace })
      await server.run(id, 'head -c 3000000 /dev/urandom > data; sha256sum data > sum; sync')
      const filler = fill(paths.store)
      const full = await server.run(
        id,
        'head -c 50000000 /dev/urandom > more || echo full; sync; sha256sum --quiet -c sum && echo whole',
      )
      expect(full).toBe('full\nwhole\n')
      // Refused or done where btrfs still had a block: the workspace is the same.
      for (let round = 0; round < 2; round++)
        await server.plane.copies.snapshot(caller, id, {}, call).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'store_full' })
        })
      for (const path of filler) rmSync(path)
      await server.plane.delete(caller, id)
      const next = await server.create({ workspace })
      expect(await server.run(next.id, 'rm -f more; sha256sum --quiet -c sum && git status --porcelain')).toBe(
        '?? data\n?? sum\n',
      )
      const { files } = await server.plane.workspaces.diff(caller, workspace, 'base', NEVER)
      expect(files.map(({ path }) => path)).toEqual(['data', 'sum'])
      expect(readdirSync(join(paths.store, 'areas'))).toEqual([next.id])
    } finally {
      await removeStore(paths)
    }
  },
)
