import { expect, it } from 'vitest'
import { locationOf } from './find-workspace.ts'

it.each([
  ['git@github.com:owner/name.git', { url: 'ssh://git@github.com/owner/name' }],
  ['me@example.com:owner/name.git', { url: 'me@example.com:owner/name.git' }],
  ['git+ssh://git@git.example.com:2222/owner/name.git', { url: 'ssh://git@git.example.com:2222/owner/name.git' }],
  ['file:///srv/a%20b.git', { path: '/srv/a b.git' }],
  ['https://github.com/owner/name', { url: 'https://github.com/owner/name' }],
  ['http://127.0.0.1:3000/a:b', { url: 'http://127.0.0.1:3000/a:b' }],
  ['git://example.com/name', { url: 'git://example.com/name' }],
  ['/srv/name', { path: '/srv/name' }],
])('the repository %s is looked for at %j', (word, location) => {
  expect(locationOf(word)).toEqual(location)
})
