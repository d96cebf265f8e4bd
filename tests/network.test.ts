import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RecordEntry, Sandbox, Secret } from '@hearth/contract'
import { Hearth, type HearthOptions } from '@hearth/engine'
import { describeNetwork, startServers } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { CertificateAuthority } from '../packages/engine/src/gateway/tls/authority.ts'
import { ladder, templateFor } from './support/ladder.ts'

const authority = await CertificateAuthority.create()
const servers = await startServers((name) => authority.contextFor(name))
const recorded = new Map<string, RecordEntry[]>()
const resolved: string[] = []
const secret: Secret = {
  name: 'TOKEN',
  value: 'sk-test-4f9b2c7d8e1a6b3c5d7e9f0a1b2c3d4e',
  binding: { name: 'secret.example', placement: { in: 'header', header: 'authorization' } },
}

function entriesOf(sandbox: string): RecordEntry[] {
  const entries = recorded.get(sandbox) ?? []
  recorded.set(sandbox, entries)
  return entries
}

const options: HearthOptions = {
  secrets: async (name) => (name === secret.name ? secret : null),
  recorder: (sandbox) => ({ add: (entry) => entriesOf(sandbox).push(entry) }),
  gateway: {
    resolve: async (name) => {
      resolved.push(name)
      return ['127.0.0.1']
    },
    extraRoots: [authority.certificate],
  },
}
const hearth = new Hearth(options)

for (const { rung, probe } of await ladder(hearth)) {
  if (!probe.available) {
    describe(rung, () => {
      test('has a network', (context) => context.skip(probe.reason))
    })
    continue
  }
  const template = templateFor(probe) === 'host' ? 'host' : 'code-interpreter'
  describeNetwork({
    name: `${rung} (${probe.label})`,
    create: async (spec = {}) => {
      resolved.length = 0
      return await hearth.create({ rung, template, ...spec })
    },
    capabilities: probe.capabilities,
    servers,
    entries: entriesOf,
    resolved: () => resolved,
    secret: secret.value,
  })
}

/** Asks on new connections, and writes down when there was an answer. */
const TICKER = `
import sys, time, urllib.request
while True:
    try: urllib.request.urlopen('http://web.example:' + sys.argv[1], timeout=5).read()
    except OSError: pass
    else: open('/tmp/ticks', 'a').write('%d\\n' % (time.time() * 1000))
    time.sleep(0.02)
`

const wanted = process.env['HEARTH_RUNGS']?.split(',')
for (const rung of (['process', 'container'] as const).filter((name) => wanted?.includes(name) ?? true)) {
  const available = (await hearth.rungs()).some((report) => report.rung === rung && report.probe.available)
  test.skipIf(!available)(`the owner of a sandbox is killed during a transfer (${rung})`, async () => {
    const program = join(import.meta.dirname, 'support', 'network-victim.ts')
    const victim = spawn(process.execPath, [program, rung, `${servers.endless}`], {
      env: { ...process.env, HEARTH_HOME: hearth.paths.home },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(victim.stdout, 'data')) as [Buffer]
    const { sandbox: id, process: reader } = JSON.parse(line.toString()) as { sandbox: string; process: number }
    const killed = once(victim, 'exit')
    victim.kill('SIGKILL')
    await killed
    await using sandbox = await hearth.adopt(id)
    // The program hears of it at once, and the address that it has is good again.
    const running = await sandbox.attach(reader)
    let text = ''
    for await (const { data } of running.output) {
      text += Buffer.from(data).toString()
      if (text.split('reads').length > 2) break
    }
    expect(text).toMatch(/^reads\n((ConnectionResetError|OSError)\n)+reads\n$/)
    await running.kill()
  })

  test.skipIf(!available)(`connections do not lead through the keeper (${rung})`, async () => {
    const allow = [{ name: 'web.example', ports: [servers.web], addresses: ['127.0.0.0/8'] }]
    await using sandbox = await hearth.create({ rung, policy: { allow } })
    await sandbox.spawn(['python3', '-c', TICKER, String(servers.web)])
    const ticks = async (): Promise<number[]> =>
      (await sandbox.exec('cat /tmp/ticks')).stdout.trim().split('\n').map(Number)
    await expect.poll(ticks, { timeout: 20_000 }).not.toEqual([0])
    const keeper = Number.parseInt(readFileSync(join(hearth.paths.sandboxes, sandbox.id, 'keeper.pid'), 'utf8'))
    process.kill(keeper, 'SIGSTOP')
    const stopped = Date.now() + 100
    await sleep(1000)
    const goesOn = Date.now()
    process.kill(keeper, 'SIGCONT')
    expect((await ticks()).some((tick) => tick > stopped && tick < goesOn)).toBe(true)
  })
}

test.skipIf(!(wanted?.includes('process') ?? true))(
  'what is used of a budget stays used after a restart and a wake, and in a fork',
  { timeout: 120_000 },
  async () => {
    const first = new Hearth({ ...options, home: hearth.paths.home, spareKeepers: 0, pool: false })
    const allow = [{ name: 'web.example', ports: [servers.web], addresses: ['127.0.0.0/8'] }]
    const made = await first.create({ rung: 'process', policy: { allow, budgets: { connections: 2 } } })
    const ask = async (sandbox: Sandbox): Promise<number | null> =>
      (await sandbox.exec(`curl -s --max-time 20 http://web.example:${servers.web}/`)).exitCode
    expect([await ask(made), await ask(made)]).toEqual([0, 0])
    await first.release()
    const again = await hearth.adopt(made.id)
    expect(await ask(again)).not.toBe(0)
    const { children } = await again.fork(1)
    for (const child of children) {
      expect(await ask(child)).not.toBe(0)
      await child.kill()
    }
    await again.hibernate()
    const awake = await hearth.wake(made.id)
    expect(await ask(awake)).not.toBe(0)
    await awake.setPolicy({ allow, budgets: { connections: 3 } })
    expect([await ask(awake), await ask(awake)]).toEqual([0, expect.any(Number)])
    await awake.kill()
  },
)

/** Asks again and again, with the secret and the authorities that it found when it was started, and writes down the last answer. */
const ASKER = `
import http.client, os, ssl, sys, time
context = ssl.create_default_context(cafile=os.environ['SSL_CERT_FILE'])
token = os.environ['TOKEN']
while True:
    try:
        connection = http.client.HTTPSConnection('secret.example', int(sys.argv[1]), timeout=5, context=context)
        connection.request('GET', '/', headers={'authorization': 'Bearer ' + token})
        said = connection.getresponse().read().decode()
    except Exception as error: said = type(error).__name__
    open('/tmp/saying', 'w').write(said)
    os.rename('/tmp/saying', '/tmp/said')
    time.sleep(0.1)
`

for (const { rung, probe } of await ladder(hearth)) {
  if (rung !== 'process' && rung !== 'gvisor') continue
  const goesOn = `a program goes on with its secret and its opened TLS after a restart and a wake (${rung})`
  test.skipIf(!probe.available)(goesOn, { timeout: 180_000 }, async () => {
    if (!probe.available) return
    const template = templateFor(probe) === 'host' ? 'host' : 'code-interpreter'
    const first = new Hearth({ ...options, home: hearth.paths.home, spareKeepers: 0, pool: false })
    const allow = [{ name: 'secret.example', ports: [servers.secureWeb], addresses: ['127.0.0.0/8'] }]
    const made = await first.create({ rung, template, policy: { allow }, secrets: [{ secret: 'TOKEN' }] })
    const placeholder = (await made.exec('printf %s "$TOKEN"')).stdout
    await (await made.spawn(['python3', '-c', ASKER, String(servers.secureWeb)])).detach()
    // The server says what it was sent, which comes back with the placeholder in the place of the value.
    const asks = async (sandbox: Sandbox): Promise<void> => {
      await sandbox.exec('rm -f /tmp/said')
      const said = async (): Promise<string> => (await sandbox.exec('cat /tmp/said')).stdout
      await expect.poll(said, { timeout: 30_000 }).toBe(`GET / Bearer ${placeholder}`)
      expect(servers.lastHeaders()['authorization']).toBe(`Bearer ${secret.value}`)
    }
    await asks(made)
    await first.release()
    let sandbox = await hearth.adopt(made.id)
    await asks(sandbox)
    expect((await sandbox.exec('printf %s "$TOKEN"')).stdout).toBe(placeholder)
    if (probe.capabilities.memory) {
      expect(await sandbox.hibernate({ memory: 'required' })).toMatchObject({ memory: true })
      sandbox = await hearth.wake(made.id)
      await asks(sandbox)
    }
    const { children } = await sandbox.fork(1, { memory: 'none' })
    const [child] = children
    if (child === undefined) throw new Error('there is no child')
    expect((await child.exec('printf %s "$TOKEN"')).stdout).not.toBe(placeholder)
    await sandbox.kill()
    const url = `https://secret.example:${servers.secureWeb}/`
    await child.exec(`curl -s --max-time 20 -H "authorization: Bearer ${placeholder}" ${url}`)
    expect(servers.lastHeaders()['authorization']).toBe(`Bearer ${placeholder}`)
    await child.kill()
  })
}

afterAll(async () => {
  await hearth.dispose()
  servers.close()
}, 120_000)
