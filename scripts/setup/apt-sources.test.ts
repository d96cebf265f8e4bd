import { expect, it } from 'vitest'
import { backportsSource, hasBackports, parseDeb822Sources, parseOneLineSources } from './apt-sources.ts'

const DEB822 = `Types: deb deb-src
# a comment between fields
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://other.example/debian
Suites: bookworm-backports
Components: main
`

it('reads deb822 stanzas, without those that are off', () => {
  expect(parseDeb822Sources(DEB822)).toEqual([
    {
      uris: ['http://mirror.example/debian'],
      suites: ['bookworm', 'bookworm-updates'],
      components: ['main', 'contrib'],
      signedBy: '/usr/share/keyrings/debian-archive-keyring.gpg',
    },
    {
      uris: ['http://mirror.example/debian-security'],
      suites: ['bookworm-security'],
      components: ['main'],
      signedBy: null,
    },
  ])
})

it('reads one-line sources', () => {
  const text = `# deb http://off.example/debian bookworm main
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=/etc/key.gpg] http://mirror.example/debian bookworm main contrib # why
deb http://mirror.example/debian bookworm-updates main
`
  expect(parseOneLineSources(text)).toEqual([
    {
      uris: ['http://mirror.example/debian'],
      suites: ['bookworm'],
      components: ['main', 'contrib'],
      signedBy: '/etc/key.gpg',
    },
    { uris: ['http://mirror.example/debian'], suites: ['bookworm-updates'], components: ['main'], signedBy: null },
  ])
})

it('derives the backports from where the release comes from', () => {
  const text = backportsSource(parseDeb822Sources(DEB822), 'bookworm')
  expect(text).toBe(
    'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\nComponents: main\n' +
      'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n',
  )
  expect(hasBackports(parseDeb822Sources(DEB822), 'bookworm')).toBe(false)
  expect(hasBackports(parseDeb822Sources(text ?? ''), 'bookworm')).toBe(true)
})

it('keeps a key that is written into the source, and works without one', () => {
  const inline =
    'Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm\nComponents: main\nSigned-By:\n -----BEGIN\n .\n -----END\n'
  expect(backportsSource(parseDeb822Sources(inline), 'bookworm')).toContain('Signed-By:\n -----BEGIN\n .\n -----END\n')
  const plain = parseOneLineSources('deb http://mirror.example/debian bookworm main')
  expect(backportsSource(plain, 'bookworm')).not.toContain('Signed-By')
  expect(backportsSource(plain, 'trixie')).toBeNull()
})
