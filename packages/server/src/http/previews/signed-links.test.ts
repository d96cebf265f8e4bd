import { newSandboxId } from '@hearth/contract'
import { expect, it } from 'vitest'
import { SignedLinks } from './signed-links.ts'

const links = new SignedLinks(Buffer.alloc(32, 7))
const sandbox = newSandboxId()
const grant = { sandbox, port: 8000, expiresAt: Date.now() + 60_000, tenant: 'tenant', key: 'key' }

it('gives back what was signed, for the same sandbox and port', () => {
  const token = links.sign(grant)
  expect(links.verify(token, sandbox, 8000)).toEqual(grant)
  expect(links.verify(token, newSandboxId(), 8000)).toBe(null)
  expect(links.verify(token, sandbox, 8001)).toBe(null)
  expect(links.verify(links.sign({ ...grant, expiresAt: Date.now() - 1 }), sandbox, 8000)).toBe(null)
})

it('refuses each other character at any place', () => {
  const token = links.sign(grant)
  for (let place = 0; place < token.length; place++) {
    for (const other of 'AB_-') {
      if (other === token[place]) continue
      const changed = token.slice(0, place) + other + token.slice(place + 1)
      expect(links.verify(changed, sandbox, 8000)).toBe(null)
    }
  }
})

it('refuses the links of another server', () => {
  expect(new SignedLinks(Buffer.alloc(32, 8)).verify(links.sign(grant), sandbox, 8000)).toBe(null)
})
