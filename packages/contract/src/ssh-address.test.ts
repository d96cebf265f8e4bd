import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HearthError } from './errors.ts'
import { parseSshAddress, sshHostName, sshUrl } from './ssh-address.ts'

const canonical = (text: string): string | null => {
  const address = parseSshAddress(text)
  return address === null ? null : sshUrl(address)
}

describe('addresses of ssh', () => {
  it.each([
    ['ssh://git@example.com/owner/name.git', 'ssh://git@example.com/owner/name.git'],
    ['ssh://example.com/owner/name', 'ssh://git@example.com/owner/name'],
    ['SSH://git@EXAMPLE.com.:22//owner//name/', 'ssh://git@example.com/owner/name'],
    ['git+ssh://git@example.com/x', 'ssh://git@example.com/x'],
    ['ssh+git://me@example.com:2222/x', 'ssh://me@example.com:2222/x'],
    ['git@example.com:owner/name.git', 'git@example.com:owner/name.git'],
    ['example.com:owner/name.git', 'git@example.com:owner/name.git'],
    ['git@example.com:/srv/name', 'ssh://git@example.com/srv/name'],
    ['git@example.com:~/name', 'ssh://git@example.com/~/name'],
    ['ssh://git@example.com/~ada/name', 'ssh://git@example.com/~ada/name'],
    ['git@ssh.dev.azure.com:v3/org/My%20Project/x', 'git@ssh.dev.azure.com:v3/org/My%20Project/x'],
    ['ssh://git@example.com/a%20b', 'ssh://git@example.com/a%20b'],
    ['git@example.com:/a b', 'ssh://git@example.com/a%20b'],
    ['ssh://git@[::1]:2222/x', 'ssh://git@[::1]:2222/x'],
    ['git@[::1]:x', 'git@[::1]:x'],
    ['git@github.com:owner/name.git', 'ssh://git@github.com/owner/name'],
    ['ssh://git@github.com/owner/name', 'ssh://git@github.com/owner/name'],
    ['git@gitlab.com:group/sub/name.git', 'ssh://git@gitlab.com/group/sub/name'],
  ])('%s is %s', (text, url) => {
    expect(canonical(text)).toBe(url)
    expect(canonical(url)).toBe(url)
  })

  it.each([
    'https://example.com/x',
    'git://example.com/x',
    '/srv/x',
    'C:\\x',
    'ext::sh -c id',
    'name:path',
    'file:///x',
    '',
  ])('%s is none', (text) => expect(parseSshAddress(text)).toBeNull())

  it.each([
    'ssh://-oProxyCommand=id/x',
    'ssh://-oProxyCommand=id@example.com/x',
    'ssh://%2doProxyCommand=id/x',
    'ssh://git%40x@example.com/x',
    '-oProxyCommand=id@example.com:x',
    'git@-oProxyCommand=id:x',
    'git@example.com:-x',
    'git@example.com:',
    'git@example.com:/',
    'git@example.com::x',
    'git@example.com:x~y',
    'ssh://git@example.com',
    'ssh://git@example.com/',
    'ssh://git@example.com/%00x',
    'ssh://git@example.com/%0ax',
    'ssh://git@example.com/%ff',
    'ssh://git@example.com/%',
    'ssh://git@example.com/x?y',
    'ssh://git@example.com/x#y',
    'ssh://git@example.com:0/x',
    'ssh://git@example.com:65536/x',
    'ssh://git@example.com:22x/x',
    'ssh://git:password@example.com/x',
    'ssh://exa mple.com/x',
    'ssh://example.com%0a/x',
    'ssh://[example.com]/x',
    'ssh://git@/x',
    'git@example.com:a\nb',
    'git@example.com:a\\b',
    'git@example..com-:x',
    'ssh:git@example.com/x',
  ])('%j is refused', (text) => {
    expect(() => parseSshAddress(text)).toThrow(HearthError)
  })

  const piece = fc.oneof(
    fc.constantFrom(
      'ssh://',
      'git+ssh://',
      '-o',
      'ProxyCommand=',
      '@',
      ':',
      '/',
      '%2d',
      '%00',
      '%0a',
      '[',
      ']',
      '::1',
      '~',
      '\n',
      ' ',
      "'",
      '"',
      '$(id)',
      '`',
      ';',
      '-',
      '.',
      '..',
      '22',
      '\\',
      '?',
      '#',
      '\0',
      '\u00e9',
    ),
    fc.string({ maxLength: 8 }),
    fc.constantFrom('git', 'example.com', 'owner/name.git', 'github.com', '127.0.0.1'),
  )
  const hostile = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    fc.tuple(piece, piece, piece).map(([user, host, path]) => `ssh://${user}@${host}/${path}`),
    fc.tuple(piece, piece, piece).map(([user, host, path]) => `${user}@${host}:${path}`),
  )

  it('have no part that a program could take for something else, whatever was written', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        let address: ReturnType<typeof parseSshAddress>
        try {
          address = parseSshAddress(text)
        } catch (error) {
          expect(HearthError.isInstance(error) && error.code).toBe('invalid_request')
          return
        }
        if (address === null) return
        const { user, host, port, path } = address
        expect(user).toMatch(/^\w[\w.+-]*$/)
        expect(host).toMatch(/^(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]+)$/)
        expect(port).toBeGreaterThan(0)
        expect(port).toBeLessThan(65_536)
        // eslint-disable-next-line no-control-regex
        expect(path).toMatch(/^[^-:\x00-\x1f\x7f\\?#][^\x00-\x1f\x7f\\?#]*$/)
        expect(sshHostName(address)).not.toMatch(/[\s,*?!]/)
        // What is handed to git means the same address, and is its own only spelling.
        const url = sshUrl(address)
        expect(url).toMatch(/^(?:ssh:\/\/)?\w[\w.+-]*@/)
        expect(parseSshAddress(url)).toEqual(address)
      }),
      { numRuns: 20_000 },
    )
  })
})
