import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CertificateAuthority } from '../gateway/tls/authority.ts'
import { readNetworkKeys, writeNetworkKeys } from './kept-network.ts'
import { clearDirectory } from './sandbox-record.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-kept-'))
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(directory, { recursive: true, force: true })
})

test('the keys of a network are read as they were written, by their owner alone', async () => {
  expect(readNetworkKeys(directory)).toBeNull()
  const authority = await CertificateAuthority.create()
  writeNetworkKeys(directory, { placeholders: { TOKEN: 'shape' }, authority: await authority.keep() })
  const [name = ''] = await readdir(directory)
  expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600)
  const keys = readNetworkKeys(directory)
  expect(keys?.placeholders).toEqual({ TOKEN: 'shape' })
  if (keys?.authority === null || keys?.authority === undefined) throw new Error('there is no authority')
  const again = await CertificateAuthority.restore(keys.authority)
  expect(again?.certificate).toBe(authority.certificate)
  // Whoever trusts the first trusts what the second issues.
  await again?.contextFor('a.test')
  vi.useFakeTimers({ now: Date.now() + 30 * 24 * 3_600_000 })
  expect(await CertificateAuthority.restore(keys.authority)).toBeNull()
})

test('they stay with a sandbox that sleeps, and go with it; damaged ones are none', async () => {
  writeNetworkKeys(directory, { placeholders: {}, authority: null })
  await writeFile(join(directory, 'sandbox.json'), JSON.stringify({ info: { state: 'hibernated' } }))
  await writeFile(join(directory, 'other'), '')
  await clearDirectory(directory)
  expect(await readdir(directory)).toHaveLength(2)
  const [name = ''] = (await readdir(directory)).filter((file) => file !== 'sandbox.json')
  await writeFile(join(directory, name), '{"placeholders"')
  expect(readNetworkKeys(directory)).toBeNull()
  await rm(join(directory, 'sandbox.json'))
  await clearDirectory(directory)
  await expect(readdir(directory)).rejects.toThrow('ENOENT')
})
