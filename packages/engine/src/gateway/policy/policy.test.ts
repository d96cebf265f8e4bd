import { HearthError, nameMatches } from '@hearth/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPublic, isWithin } from './addresses.ts'
import { CompiledPolicy } from './compiled-policy.ts'
import { normalName } from './host-name.ts'
import { pathMatches, plainPath } from './path-pattern.ts'

describe('names', () => {
  it.each([
    ['API.Example.com.', 'api.example.com'],
    ['localhost', 'localhost'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['_srv.example.com', '_srv.example.com'],
  ])('%s is %s', (text, name) => {
    expect(normalName(text)).toBe(name)
  })

  it.each([
    '',
    '.',
    'a..b',
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.1',
    '[::1]',
    '::1',
    'a b',
    'a\0.example.com',
    'exаmple.com',
    'a/b',
    'user@example.com',
    'example.com:443',
    '*.example.com',
    '-a.example.com',
    'a'.repeat(64) + '.com',
    'a.'.repeat(127) + 'com',
    '1.2.3.4.0x5',
  ])('%j is none', (text) => {
    expect(normalName(text)).toBe(null)
  })

  it('a suffix names what is below it, and neither itself nor what only ends alike', () => {
    expect(nameMatches('*.example.com', 'a.example.com')).toBe(true)
    expect(nameMatches('*.example.com', 'a.b.example.com')).toBe(true)
    expect(nameMatches('*.example.com', 'example.com')).toBe(false)
    expect(nameMatches('*.example.com', 'evilexample.com')).toBe(false)
    expect(nameMatches('example.com', 'a.example.com')).toBe(false)
  })
})

describe('addresses', () => {
  it.each(['1.1.1.1', '93.184.216.34', '2606:4700::1111', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1'])(
    '%s is public',
    (address) => {
      expect(isPublic(address)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.8.9.1',
    '169.254.169.254',
    '168.63.129.16',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    '::127.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1.1.1.1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2002:7f00:1::1',
    '2001:0:1::1',
    '2001:db8::1',
    'not an address',
  ])('%s is not', (address) => {
    expect(isPublic(address)).toBe(false)
  })

  it('within a network, also when it is wrapped', () => {
    expect(isWithin('10.1.2.3', ['10.0.0.0/8'])).toBe(true)
    expect(isWithin('::ffff:10.1.2.3', ['10.0.0.0/8'])).toBe(true)
    expect(isWithin('11.1.2.3', ['10.0.0.0/8'])).toBe(false)
    expect(isWithin('fd00::1', ['fd00::/8', '10.0.0.0/8'])).toBe(true)
  })
})

describe('paths', () => {
  it.each([
    '/a/../b',
    '/a/%2e%2e/b',
    '//a',
    '/a//b',
    '/a\\b',
    '/a%5cb',
    '/a%2fb',
    '/%61',
    '/a%',
    '/a b',
    '/ä',
    'a',
    '*',
    '',
    '/a%00',
    '/a/..;/b',
    '/a/.;c=d/b',
    '/a/..%3B/b',
    '/a/%c0%ae%C0%AE/b',
    '/a%e0%80%afb',
    '/a%f0%80%80%afb',
    '/a%ffb',
    '/a%EF%BC%8Fb',
    '/a/%e2%80%a5/b',
  ])('%j has more than one reading', (path) => {
    expect(plainPath(path)).toBe(null)
  })

  it.each([
    ['/', '/'],
    ['/a/b?c=/../d', '/a/b'],
    ['/a%20b', '/a%20b'],
    ['/caf%c3%a9', '/caf%c3%a9'],
    ['/caf%e9', '/caf%e9'],
    ['/%e4%bd%a0%ef%bc%81', '/%e4%bd%a0%ef%bc%81'],
    ['/a..b/.c', '/a..b/.c'],
    ['/a;v=1/..b;c', '/a;v=1/..b;c'],
  ])('%s is %s', (target, path) => {
    expect(plainPath(target)).toBe(path)
  })

  it('patterns', () => {
    expect(pathMatches('/repos/*/issues', '/repos/a/issues')).toBe(true)
    expect(pathMatches('/repos/*/issues', '/repos/a/b/issues')).toBe(false)
    expect(pathMatches('/repos/**', '/repos/a/b')).toBe(true)
    expect(pathMatches('/repos/**', '/repository')).toBe(false)
    expect(pathMatches('/a.b', '/axb')).toBe(false)
    expect(pathMatches('/x-*', '/x-1')).toBe(true)
  })

  it('patterns say the same as expressions, which take too long', () => {
    const part = fc
      .array(fc.constantFrom('a', 'b', '*'), { maxLength: 5 })
      .map((some) => some.join('').replaceAll('**', '*'))
    const pattern = fc
      .tuple(fc.array(part, { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([parts, below]) => `/${parts.join('/').replace(/\*$/, '')}${below ? '**' : ''}`)
    fc.assert(
      fc.property(pattern, fc.stringMatching(/^(\/[ab]{0,4}){1,5}$/), (text, path) => {
        const source = text.replace(/\*\*$/, '.#').replaceAll('*', '[^/]*').replaceAll('.#', '.*')
        expect(pathMatches(text, path)).toBe(new RegExp(`^${source}$`).test(path))
      }),
      { numRuns: 2000 },
    )
  })

  it('no pattern and no path make the gateway stand still', () => {
    const started = performance.now()
    expect(pathMatches(`/${'*a'.repeat(500)}b`, `/${'a'.repeat(60_000)}`)).toBe(false)
    expect(pathMatches(`/*${'a'.repeat(1000)}b*c`, `/${'a'.repeat(60_000)}`)).toBe(false)
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe('a policy', () => {
  const policy = new CompiledPolicy({
    allow: ['plain.test', 'ssh.test:22', { name: '*.api.test', ports: [443], methods: ['GET'], paths: ['/v1/**'] }],
    deny: ['secret.api.test:443', { name: 'plain.test', paths: ['/admin/**'] }],
  })

  it('without one nothing is reached', () => {
    const none = new CompiledPolicy()
    expect(none.empty).toBe(true)
    expect(none.connection('plain.test', 443)).toMatchObject({ allowed: false, refusal: 'name_not_allowed' })
    expect(none.ports('plain.test')).toEqual([])
  })

  it('names and ports', () => {
    expect(policy.ports('plain.test')).toEqual([443, 80])
    expect(policy.ports('ssh.test')).toEqual([22])
    expect(policy.connection('ssh.test', 443)).toMatchObject({ refusal: 'port_not_allowed' })
    expect(policy.connection('other.test', 443)).toMatchObject({ refusal: 'name_not_allowed' })
    expect(policy.connection('secret.api.test', 443)).toMatchObject({ refusal: 'denied' })
    expect(policy.ports('secret.api.test')).toEqual([])
  })

  it('is looked into only where a rule needs it', () => {
    expect(policy.connection('ssh.test', 22)).toMatchObject({ inspected: false })
    expect(policy.connection('a.api.test', 443)).toMatchObject({ inspected: true })
    expect(policy.connection('plain.test', 443)).toMatchObject({ inspected: true })
  })

  it('requests: what is denied stays so, and a doubtful path counts as the denied one', () => {
    expect(policy.request('a.api.test', 443, 'GET', '/v1/x?y')).toEqual({ allowed: true, named: true })
    expect(policy.request('a.api.test', 443, 'POST', '/v1/x')).toMatchObject({ refusal: 'method_not_allowed' })
    expect(policy.request('a.api.test', 443, 'GET', '/v2')).toMatchObject({ refusal: 'path_not_allowed' })
    expect(policy.request('a.api.test', 443, 'GET', '/v1/../v2')).toMatchObject({ refusal: 'malformed' })
    expect(policy.request('plain.test', 443, 'GET', '/public')).toEqual({ allowed: true, named: true })
    expect(policy.request('plain.test', 443, 'GET', '/admin/x')).toMatchObject({ refusal: 'denied' })
    expect(policy.request('plain.test', 443, 'GET', '/x/../admin/x')).toMatchObject({ refusal: 'denied' })
  })

  it('what is denied is denied in capitals too; what is allowed is allowed as it is written', () => {
    expect(policy.request('plain.test', 443, 'GET', '/Admin/x')).toMatchObject({ refusal: 'denied' })
    expect(policy.request('plain.test', 443, 'GET', '/ADMIN/')).toMatchObject({ refusal: 'denied' })
    expect(policy.request('a.api.test', 443, 'GET', '/V1/x')).toMatchObject({ refusal: 'path_not_allowed' })
  })

  it.each(['/admin/x?token=1', '/v2/../x?token=1', '/v2?token=1'])('no query is in a message: %s', (target) => {
    for (const name of ['plain.test', 'a.api.test']) {
      const verdict = policy.request(name, 443, 'GET', target)
      if (!verdict.allowed) expect(verdict.message).not.toContain('token')
    }
  })

  it('audit lets pass what is not denied, and says that no rule names it', () => {
    const audit = new CompiledPolicy({ mode: 'audit', deny: ['bad.test'] })
    expect(audit.connection('any.test', 443)).toMatchObject({ allowed: true, named: false })
    expect(audit.connection('bad.test', 443)).toMatchObject({ refusal: 'denied' })
    for (const port of [22, 443, 9999]) expect(audit.connection('bad.test', port)).toMatchObject({ refusal: 'denied' })
    expect(audit.ports('bad.test')).toEqual([])
    // SSH and PostgreSQL are found too, and can be learned.
    expect(audit.ports('any.test')).toEqual(expect.arrayContaining([443, 80, 22, 5432]))
  })

  it.each([
    { allow: ['10.0.0.1'] },
    { allow: [{ name: '*.test', addresses: ['10.0.0.0/8'] }] },
    { allow: [{ name: 'a.test', paths: ['/a/../b'] }] },
    { allow: ['a.test:0'] },
    { allow: ['a.test:99999'] },
    { allow: [{ name: 'a.test', verb: 'GET' }] },
    { presets: ['everything'] },
  ])('refuses %j', (input) => {
    expect(() => new CompiledPolicy(input as never)).toThrow(HearthError)
  })

  it('never allows a name that no rule names, whatever the name is', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 65_535 }), (text, port) => {
        const name = normalName(text)
        if (name === null || name === 'plain.test' || name === 'ssh.test' || name.endsWith('.api.test')) return
        expect(policy.connection(name, port).allowed).toBe(false)
      }),
    )
  })
})
