import type { Scope } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { describe, expect, it } from 'vitest'
import { requireAllowedTemplate } from './allowed-template.ts'

const tenant = new Set<Scope>(['sandbox:read', 'sandbox:write'])
const built = 'localhost:5000/built:1'
const host = { templates: { list: async () => [{ name: built }] } } as unknown as Pick<Hearth, 'templates'>
const operator = new Set<Scope>([...tenant, 'operator'])

describe('which templates a key may name', () => {
  it.each([
    'archive:/root/image.tar',
    'localhost/image:1',
    'localhost:5000/image:1',
    '127.0.0.1:5000/image:1',
    '10.0.0.7/image:1',
    '169.254.169.254/latest:1',
    '[::1]:5000/image:1',
    '[::ffff:127.0.0.1]:5000/image:1',
    '0.0.0.0:5000/image:1',
    'LOCALHOST:5000/image:1',
  ])('%s is for operators', async (template) => {
    await expect(requireAllowedTemplate(host, tenant, template)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(requireAllowedTemplate(host, operator, template)).resolves.toBeUndefined()
  })

  it.each([undefined, 'host', 'debian', 'code-interpreter', '192.0.2.1'])('%s is for all', async (template) => {
    await expect(requireAllowedTemplate(host, tenant, template)).resolves.toBeUndefined()
  })

  it('what an operator has built is for all', async () => {
    await expect(requireAllowedTemplate(host, tenant, built)).resolves.toBeUndefined()
  })

  it('an image of a public address is for all', async () => {
    await expect(requireAllowedTemplate(host, tenant, '8.8.8.8/image:1')).resolves.toBeUndefined()
  })
})
