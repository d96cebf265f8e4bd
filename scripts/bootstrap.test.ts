import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
// @ts-expect-error plain JavaScript that must run before TypeScript can
import { whyInstall as untyped } from './bootstrap.mjs'

const whyInstall = untyped as (root: string) => string | null
let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'hearth-bootstrap-'))
  await mkdir(join(root, 'node_modules'))
  await lock('package-lock.json', {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  })
})

afterEach(async () => await rm(root, { recursive: true }))

async function lock(name: string, packages: object): Promise<void> {
  await writeFile(join(root, name), JSON.stringify({ packages }))
}

it('installs when there is nothing', () => {
  expect(whyInstall(root)).toBe('node_modules is missing')
})

it('installs when what is there is not what the lockfile says', async () => {
  await lock('node_modules/.package-lock.json', { 'node_modules/b': { version: '2.0.0' } })
  expect(whyInstall(root)).toBe('node_modules/a is missing')
  await lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.1' } })
  expect(whyInstall(root)).toBe('node_modules/a has another version')
  await lock('node_modules/.package-lock.json', {
    'node_modules/a': { version: '1.0.0' },
    'node_modules/c': { version: '1.0.0' },
  })
  expect(whyInstall(root)).toBe('node_modules/c is no longer in the lockfile')
})

it('leaves a matching tree alone, also without an optional package', async () => {
  await lock('node_modules/.package-lock.json', { 'node_modules/a': { version: '1.0.0' } })
  expect(whyInstall(root)).toBeNull()
})
