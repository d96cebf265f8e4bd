import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { targetOf } from './target.ts'

const id = 'sb00000000000000000000'
const sandbox = 'sb_00000000000000000000'
const at = (host: string, headers: Record<string, string> = {}, url = '/') =>
  targetOf({ headers: { host, ...headers }, url } as unknown as IncomingMessage, ['e2b.test', 'localhost'])
const named = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': '49983' }

describe('where a request goes', () => {
  it('is told by its host name', () => {
    expect(at(`3000-${id}.e2b.test`)).toEqual({ sandbox, port: 3000 })
    expect(at(`3000-${id}.E2B.test:8443`)).toEqual({ sandbox, port: 3000 })
    expect(at(`3000-${id}-client.localhost`)).toEqual({ sandbox, port: 3000 })
    expect(at('api.e2b.test', named)).toBeNull()
    for (const wrong of [`0-${id}`, `65536-${id}`, id, `3000-${id.slice(1)}`, '3000-', 'x']) {
      expect(() => at(`${wrong}.e2b.test`), wrong).toThrow(/malformed/)
    }
  })

  it('is told by headers where the host tells nothing', () => {
    for (const host of [
      '127.0.0.1:7071',
      '[::1]:7071',
      'localhost:7071',
      'sandbox.e2b.test',
      'e2b.test',
      'hearth.corp.example:8443',
    ]) {
      expect(at(host, named), host).toEqual({ sandbox, port: 49_983 })
    }
    expect(at('hearth.corp.example')).toBeNull()
    // A name that says which sandbox is believed, whatever the headers say, and that of the control plane is nothing else.
    expect(at(`3000-${id}.e2b.test`, named)).toEqual({ sandbox, port: 3000 })
    expect(() => at('localhost', { 'e2b-sandbox-id': id })).toThrow(/missing/)
    expect(() => at('localhost', { 'e2b-sandbox-port': '1' })).toThrow(/missing/)
  })

  it('is open for a signed link on one origin for all', () => {
    expect(at('localhost', {}, '/files?path=a&signature=v1_x')).toEqual({ sandbox: null, port: 49_983 })
    expect(at('hearth.corp.example', {}, '/files?signature=v1_x')).toEqual({ sandbox: null, port: 49_983 })
    expect(at('api.e2b.test', {}, '/files?signature=v1_x')).toBeNull()
    expect(at('localhost', {}, '/files?path=a')).toBeNull()
  })
})
