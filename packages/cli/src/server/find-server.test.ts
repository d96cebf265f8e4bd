import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { findServer } from './find-server.ts'
import { recordServer } from './server-record.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'hearth-find-'))
  await writeFile(join(home, 'key'), 'hearth_kept\n')
  vi.stubEnv('HEARTH_HOME', home)
  vi.stubEnv('HEARTH_URL', '')
  vi.stubEnv('HEARTH_API_KEY', '')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(home, { recursive: true })
})

it('is the usual address with the key of the home, unless told otherwise', () => {
  const usual = { url: 'http://127.0.0.1:7070', apiKey: 'hearth_kept', keySource: 'file', isLocal: true }
  expect(findServer(undefined)).toEqual(usual)
  vi.stubEnv('HEARTH_API_KEY', 'hearth_given')
  expect(findServer(8080)).toEqual({
    url: 'http://127.0.0.1:8080',
    apiKey: 'hearth_given',
    keySource: 'environment',
    isLocal: true,
  })
})

it('is where the server of this home listens, while it runs', async () => {
  {
    await using record = await recordServer(home, 'http://127.0.0.1:4711')
    expect(record).toBeDefined()
    expect(findServer(undefined).url).toBe('http://127.0.0.1:4711')
  }
  expect(findServer(undefined).url).toBe('http://127.0.0.1:7070')
  await writeFile(
    join(home, 'server.json'),
    JSON.stringify({ url: 'http://127.0.0.1:1', pid: process.pid, started: '1' }),
  )
  expect(findServer(undefined).url).toBe('http://127.0.0.1:7070')
})

it.each(['http://hearth.example:7070', 'https://10.0.0.1', 'http://127.0.0.1.example', 'http://localhost.example'])(
  'never gives the key of this home to %s',
  (url) => {
    vi.stubEnv('HEARTH_URL', url)
    expect(findServer(undefined)).toEqual({ url, apiKey: null, keySource: 'none', isLocal: false })
  },
)
