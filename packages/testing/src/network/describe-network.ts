import type { CreateFrom, ForkOptions, ForkResult, Policy, RecordEntry, Sandbox, SandboxId } from '@hearth/contract'
import { expect } from 'vitest'
import type { DriverCapabilities } from '../support/capabilities.ts'
import { Copies } from '../fork/fork-suite.ts'
import { eventually, output } from '../support/expectations.ts'
import { describeSuite, type Suite } from '../support/suite.ts'
import { attempt } from './attempts.ts'
import type { LoopbackServers } from './loopback-servers.ts'

/** A sandbox of this process, whose policy can be changed. */
export type NetworkSandbox = Sandbox & {
  setPolicy(policy: Policy): Promise<void>
  fork(count: number, options?: ForkOptions): Promise<ForkResult<NetworkSandbox>>
}

export interface NetworkSuiteOptions {
  readonly name: string
  /** Names ending in `.example` lead to the loopback; a secret `TOKEN` is bound to `secret.example`. The suite kills it. */
  readonly create: (spec?: CreateFrom) => Promise<NetworkSandbox>
  readonly capabilities: DriverCapabilities & { readonly snapshots: boolean }
  readonly servers: LoopbackServers
  /** What was recorded of a sandbox. */
  readonly entries: (sandbox: SandboxId) => readonly RecordEntry[]
  /** Names that the host was asked to resolve. */
  readonly resolved: () => readonly string[]
  readonly secret: string
}

const LOOPBACK = { addresses: ['127.0.0.0/8'] }

/** What every rung must do: names that the policy allows are reached, and nothing else is. */
export function describeNetwork(options: NetworkSuiteOptions): void {
  const { name, create, capabilities } = options
  describeSuite(
    { name, create, capabilities },
    {
      network: (suite) => {
        if (capabilities.processes) fromPrograms(suite, options)
        throughCurl(suite, options)
      },
    },
  )
}

function policyFor(servers: LoopbackServers): Policy {
  const { echo, banner, web, tls } = servers
  return {
    allow: [
      { name: 'allowed.example', ports: [echo, banner, web, tls], ...LOOPBACK },
      { name: 'private.example', ports: [echo] },
    ],
  }
}

function fromPrograms(suite: Suite, { create, servers, entries, resolved, capabilities }: NetworkSuiteOptions): void {
  const { echo, banner, tls, endless, web } = servers

  suite.plain('allowed names are reached by any protocol, and nothing else is', { timeoutMs: 90_000 }, async () => {
    await using sandbox = await create({ policy: policyFor(servers) })
    const before = servers.connections()
    const reached = await attempt(
      sandbox,
      ['tcp', 'allowed.example', echo, 'echoed'],
      ['tcp', 'ALLOWED.example.', echo, 'in capitals'],
      ['tcp', 'allowed.example', banner, ''],
      ['tls', 'allowed.example', tls, 'allowed.example'],
    )
    expect(reached).toEqual(['echoed', 'in capitals', '220 ready\n', 'over tls'])
    const made = servers.connections()
    expect(made).toBe(before + 4)

    const refused = await attempt(
      sandbox,
      ['tcp', 'other.example', echo, 'x'],
      ['tcp', 'allowed.example', endless, 'x'],
      ['tcp', 'private.example', echo, 'x'],
      ['tls', 'allowed.example', tls, 'other.example'],
      ['tls', 'allowed.example', tls, null],
      ['tcp', '127.0.0.1', echo, 'x'],
      ['tcp', '203.0.113.1', 80, 'x'],
      ['tcp', '169.254.169.254', 80, 'x'],
      ['datagram', '203.0.113.1', 53],
      ['raw'],
      ['resolve', `${'stolen.'.repeat(30)}other.example`],
      ['say', 'allowed.example', web, `GET / HTTP/1.1\r\nHost: other.example\r\n\r\n`],
    )
    const [httpOutcome] = refused.splice(-1)
    expect(httpOutcome).toMatch(/^HTTP\/1\.1 [45]/)
    expect(refused).toEqual([
      'gaierror',
      'ConnectionRefusedError',
      // Whether it is noticed when it reads, or when it wants to end.
      expect.stringMatching(/^(ConnectionResetError|OSError|end)$/) as unknown,
      'ConnectionResetError',
      'ConnectionResetError',
      'ConnectionRefusedError',
      'OSError',
      'OSError',
      'OSError',
      expect.stringMatching(/^(PermissionError|OSError|open)$/) as unknown,
      'gaierror',
    ])
    // Two were dialed ahead for a hello that named another host, and nothing was said to them.
    expect(servers.connections()).toBeLessThanOrEqual(made + 3)
    // What another sandbox has just asked for is known already.
    for (const name of resolved()) expect(['allowed.example', 'private.example']).toContain(name)
    const kinds = entries(sandbox.id).flatMap((entry) => (entry.kind === 'refusal' ? [entry.refusal] : []))
    for (const kind of ['name_not_allowed', 'address_not_public', 'name_mismatch'] as const)
      expect(kinds).toContain(kind)
    const connection = entries(sandbox.id).find((entry) => entry.kind === 'connection')
    expect(connection).toMatchObject({
      name: 'allowed.example',
      port: echo,
      named: true,
      protocol: 'tcp',
      failure: null,
    })
    expect(connection?.process).toBe((await sandbox.processes())[0]?.id)
  })

  suite.plain('budgets and other policies hold for what is under way', { timeoutMs: 90_000 }, async () => {
    const rule = { name: 'allowed.example', ports: [endless, echo], ...LOOPBACK }
    await using sandbox = await create({ policy: { allow: [rule], budgets: { receivedBytes: 1_000_000 } } })
    const [got, after] = await attempt(
      sandbox,
      ['read', 'allowed.example', endless, 50_000_000],
      ['tcp', 'allowed.example', echo, 'x'],
    )
    expect(got).toBeLessThanOrEqual(1_000_000)
    expect(after).toMatch(/^(ConnectionResetError|OSError|end)$/)
    await sandbox.setPolicy({ allow: [rule] })
    const reading = attempt(sandbox, ['read', 'allowed.example', endless, Number.MAX_SAFE_INTEGER])
    const used = servers.connections()
    await eventually('it reads', async () => servers.connections() > used, 30_000)
    await sandbox.setPolicy({ allow: [{ ...rule, name: 'second.example' }], deny: ['allowed.example'] })
    expect(await reading).toEqual([expect.any(Number)])
    const outcomes = await attempt(
      sandbox,
      ['tcp', 'allowed.example', echo, 'x'],
      ['tcp', 'second.example', echo, 'second'],
    )
    expect(outcomes).toEqual(['gaierror', 'second'])
    await sandbox.setPolicy({})
    expect(await attempt(sandbox, ['tcp', 'second.example', echo, 'x'])).toEqual(['gaierror'])
  })

  suite.plain(
    'files in the way of its own are replaced, and nothing is written elsewhere',
    { timeoutMs: 90_000 },
    async () => {
      await using sandbox = await create()
      const trust = '/etc/ssl/certs/ca-certificates.crt'
      // Without a policy there is nothing of a network.
      expect(await output(sandbox, 'cat /etc/resolv.conf')).toBe('')
      const hostile = `set -e; echo kept >/tmp/kept; rm -f /etc/resolv.conf ${trust}; mkdir -p /etc/ssl/certs /.hearth
        ln -s /tmp/kept /etc/resolv.conf; ln -s /tmp/kept /.hearth/certificates.crt; mkfifo ${trust}
        ln -s /tmp/kept /etc/ssl/cert.pem`
      expect(await sandbox.exec(hostile, { user: 'root' })).toMatchObject({ exitCode: 0 })
      await sandbox.setPolicy({ allow: [{ name: 'allowed.example', methods: ['GET'], ...LOOPBACK }] })
      expect(await output(sandbox, 'cat /tmp/kept /etc/resolv.conf')).toBe('kept\nnameserver 127.0.0.53')
      expect(await output(sandbox, 'head -1 /.hearth/certificates.crt; test ! -L /.hearth/certificates.crt')).toBe(
        'kept',
      )
      expect(await output(sandbox, 'tail -1 "$SSL_CERT_FILE"')).toBe('-----END CERTIFICATE-----')
    },
  )

  suite.plain('copies have a gateway and placeholders of their own', { timeoutMs: 120_000 }, async () => {
    if (!capabilities.snapshots) return
    await using sandbox = await create({ policy: policyFor(servers), secrets: [{ secret: 'TOKEN' }] })
    const { children } = await sandbox.fork(1)
    const [child] = children
    try {
      if (child === undefined) throw new Error('there is no child')
      expect(await attempt(child, ['tcp', 'allowed.example', echo, 'from a copy'])).toEqual(['from a copy'])
      expect(await attempt(sandbox, ['tcp', 'allowed.example', echo, 'from it'])).toEqual(['from it'])
      const placeholders = [await output(sandbox, 'echo $TOKEN'), await output(child, 'echo $TOKEN')]
      expect(new Set(placeholders).size).toBe(2)
      expect(entries(child.id).some((entry) => entry.kind === 'connection')).toBe(true)
    } finally {
      await child?.kill()
    }
  })

  suite.plain('each copy is held to the policy that it was given', { timeoutMs: 180_000 }, async () => {
    if (!capabilities.snapshots) return
    const allow = (name: string): Policy => ({ allow: [{ name, ports: [echo], ...LOOPBACK }] })
    await using sandbox = await create({ policy: allow('allowed.example') })
    const tries = (one: Sandbox): Promise<unknown[]> =>
      attempt(one, ['tcp', 'allowed.example', echo, 'first'], ['tcp', 'second.example', echo, 'second'])
    expect(await tries(sandbox)).toEqual(['first', 'gaierror'])
    const each = [{ policy: allow('second.example') }, { policy: {} }, {}]
    await using copies = new Copies((await sandbox.fork(each.length, { each })).children)
    const outcomes = await Promise.all([...copies.all, sandbox].map(tries))
    expect(outcomes).toEqual([
      ['gaierror', 'second'],
      ['gaierror', 'gaierror'],
      ['first', 'gaierror'],
      ['first', 'gaierror'],
    ])
  })
}

function throughCurl(suite: Suite, { create, servers, entries, secret }: NetworkSuiteOptions): void {
  suite.plain('what is said is looked at where a rule or a secret needs it', { timeoutMs: 90_000 }, async () => {
    const { secureWeb, web } = servers
    const policy: Policy = {
      allow: [
        { name: 'rules.example', ports: [secureWeb], methods: ['GET'], paths: ['/open/**'], ...LOOPBACK },
        { name: 'secret.example', ports: [secureWeb], ...LOOPBACK },
        { name: 'web.example', ports: [web], ...LOOPBACK },
      ],
    }
    await using sandbox = await create({ policy, secrets: [{ secret: 'TOKEN' }] })
    const curl = async (rest: string): Promise<string> => (await sandbox.exec(`curl -s --max-time 30 ${rest}`)).stdout
    expect(await curl(`http://web.example:${web}/a`)).toBe(`web web.example:${web} /a`)
    expect(await curl(`https://rules.example:${secureWeb}/open/it`)).toBe('GET /open/it ')
    expect(await curl(`https://rules.example:${secureWeb}/closed`)).toContain('egress_refused')
    expect(await curl(`-X POST https://rules.example:${secureWeb}/open/it`)).toContain('method_not_allowed')
    const said = await curl(`-H "Authorization: Bearer $TOKEN" https://secret.example:${secureWeb}/`)
    const placeholder = await output(sandbox, 'echo $TOKEN')
    expect(servers.lastHeaders()['authorization']).toBe(`Bearer ${secret}`)
    expect(said).toBe(`GET / Bearer ${placeholder}`)
    expect(placeholder).not.toBe(secret)
    const requests = entries(sandbox.id).filter((entry) => entry.kind === 'request')
    expect(requests).toContainEqual(
      expect.objectContaining({ name: 'secret.example', secrets: ['TOKEN'], status: 200 }),
    )
    expect(JSON.stringify(entries(sandbox.id))).not.toContain(secret)
  })
}
