import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { ensureStore, Hearth, removeStore } from '@hearth/engine'
import { expect, it } from 'vitest'
import { NEVER, TestHome } from '../src/lifecycle/test-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const CALL = { idempotencyKey: null, signal: NEVER } as const

/** Where the bytes of a file are on the disk. */
function extents(path: string): string[] {
  const table = execFileSync('filefrag', ['-v', '-s', path], { encoding: 'utf8' })
  return [...table.matchAll(/^ +\d+: +\d+\.\. +\d+: +(\d+)\.\. +(\d+):/gm)].map(([, from, to]) => `${from}-${to}`)
}

it.skipIf(process.getuid?.() !== 0)(
  'further workspaces of a commit lie where the first one lies, objects and files',
  async () => {
    using upstream = new Upstream()
    upstream.write('large', randomBytes(4_000_000).toString('base64'))
    upstream.commit('large')
    await using home = await TestHome.make()
    const { paths } = new Hearth({ home: home.path })
    await ensureStore(paths, { ...process.env, HEARTH_STORE_SIZE: '512M' })
    try {
      await using server = await home.start()
      const caller = { ...(await server.caller()), scopes: new Set(['operator', 'workspaces'] as const) }
      const make = () => server.plane.workspaces.create(caller, { path: upstream.path }, CALL)
      const made = [await make(), await make(), await make()]
      expect(new Set(made.map(({ id }) => id)).size).toBe(3)
      for (const pattern of ['.git/objects/pack/*.pack', 'large']) {
        const found = globSync(join(paths.store, 'volumes/*/files', pattern))
        // The one that workspaces are made of, and three of them.
        expect(found.length).toBe(4)
        const places = new Set(found.map((path) => extents(path).join()))
        expect(places).toEqual(new Set([expect.stringMatching(/\d+-\d+/)]))
      }
    } finally {
      await removeStore(paths)
    }
  },
)
