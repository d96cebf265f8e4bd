import { expect, it } from 'vitest'
import { locationOfRemote } from './origin.ts'

it.each([
  ['https://github.com/owner/name.git', { url: 'https://github.com/owner/name.git' }],
  ['https://ada:token@github.com/owner/name', { url: 'https://github.com/owner/name' }],
  ['git@github.com:owner/name.git', { url: 'https://github.com/owner/name.git' }],
  ['gitlab.com:group/sub/name', { url: 'https://gitlab.com/group/sub/name' }],
  ['ssh://git@git.example.com:2222/owner/name.git', { url: 'https://git.example.com/owner/name.git' }],
  ['file:///srv/a%20b.git', { path: '/srv/a b.git' }],
  ['/srv/name.git', { path: '/srv/name.git' }],
])('the remote %s is reached by the server', (address, location) => {
  expect(locationOfRemote(address)).toEqual(location)
})

it.each(['../name.git', 'ext::sh -c id', 'git://example.com/name'])('%s is not reached', (address) => {
  expect(() => locationOfRemote(address)).toThrow(/no address that a server can reach/)
})
