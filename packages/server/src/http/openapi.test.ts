import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { documentedOperations, type OpenApi } from './testing/document.ts'
import { TestServer } from './testing/test-server.ts'

const KEPT = new URL('../../../contract/openapi.json', import.meta.url)
const TABLE = new URL('../../../contract/API.md', import.meta.url)

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

describe('the description of the API', () => {
  /** `HEARTH_WRITE_OPENAPI=1` writes it anew after a change that is meant. */
  it('is the one that is kept with the contract', async () => {
    const served = await server.json<OpenApi>('GET', '/openapi.json', { key: null })
    if (process.env['HEARTH_WRITE_OPENAPI'] === '1') writeFileSync(KEPT, `${JSON.stringify(served, null, 2)}\n`)
    expect(served).toEqual(JSON.parse(readFileSync(KEPT, 'utf8')))
    expect(served.openapi).toBe('3.1.0')
  })

  it('has a name of its own for each operation, and resolves every reference', async () => {
    const served = await server.json<OpenApi>('GET', '/openapi.json', { key: null })
    const ids = (await documentedOperations(server)).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    for (const [, name] of JSON.stringify(served).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(served.components.schemas, name).toHaveProperty([name ?? ''])
    }
  })

  it('has every route of the table for people, and the table every route', async () => {
    const known = new Set((await documentedOperations(server)).map(({ path }) => path.replace(/^\/v1/, '')))
    const told = new Set<string>()
    for (const line of readFileSync(TABLE, 'utf8')
      .split('\n')
      .filter((row) => row.startsWith('| `'))) {
      const cell = line.split('|')[1] ?? ''
      const paths = [...cell.matchAll(/\/[\w{}/-]+/g)].map(([path]) => path)
      const [first = ''] = paths
      for (const path of paths)
        told.add(known.has(path) ? path : first.replace(/\/[^/]+$/, path.slice(path.lastIndexOf('/'))))
    }
    for (const path of ['/health', '/ready', '/metrics', '/openapi.json']) told.add(path)
    expect([...told].toSorted()).toEqual([...known].toSorted())
  })
})
