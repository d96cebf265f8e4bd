import { expect, it } from 'vitest'
import { parseRemote } from '../git/remote.ts'
import { requireForgeToken, webUrl } from './forge-token.ts'
import { placeOf } from './forge.ts'

it.each([
  ['git@github.com:owner/name.git', 'https://api.github.com', 'owner/name'],
  ['ssh://git@ssh.github.com:443/owner/name.git', 'https://api.github.com', 'owner/name'],
  ['git@gitlab.com:group/sub/name.git', 'https://gitlab.com/api/v4', 'group/sub/name'],
  ['ssh://git@altssh.gitlab.com:443/group/name', 'https://gitlab.com/api/v4', 'group/name'],
  ['https://github.com/owner/name.git', 'https://api.github.com', 'owner/name'],
])('the forge of %s is found', (url, api, project) => {
  const place = placeOf(null, webUrl(parseRemote({ url })))
  expect([place.api.href.replace(/\/$/, ''), place.project]).toEqual([api, project])
})

it.each(['git@github.com:~/name', 'git@github.com:name', 'ssh://git@github.com/a/b/c', 'git@gitlab.com:../x/..'])(
  '%s is no repository of a forge',
  (url) => expect(() => placeOf(null, webUrl(parseRemote({ url })))).toThrow(/is not the path of a repository/),
)

const allowed = (url: string, bound: string, place: 'basic' | 'ssh', apiUrl?: string): boolean => {
  const web = webUrl(parseRemote({ url }))
  const forge = apiUrl === undefined ? null : { kind: 'github' as const, apiUrl }
  try {
    requireForgeToken({ name: 't', binding: { name: bound, placement: { in: place } } }, web, placeOf(forge, web).api)
    return true
  } catch {
    return false
  }
}

it('a token goes to the API of the forge that it was stored for, and nowhere else', () => {
  const github = 'git@github.com:owner/name'
  expect(allowed(github, 'github.com', 'basic')).toBe(true)
  expect(allowed(github, 'api.github.com', 'basic')).toBe(true)
  expect(allowed(github, '*.github.com', 'basic')).toBe(true)
  expect(allowed(github, 'github.com', 'ssh')).toBe(false)
  expect(allowed(github, 'example.com', 'basic')).toBe(false)
  expect(allowed(github, 'github.com', 'basic', 'https://thief.example.com')).toBe(false)
  const own = 'https://git.example.com/owner/name'
  expect(allowed(own, 'git.example.com', 'basic', 'https://git.example.com/api/v3')).toBe(true)
  expect(allowed(own, 'git.example.com', 'basic', 'https://api.example.com')).toBe(false)
  expect(allowed(own, '*.example.com', 'basic', 'https://api.example.com')).toBe(true)
  expect(allowed(own, 'git.example.com', 'basic', 'https://git.example.com.thief.net')).toBe(false)
})
