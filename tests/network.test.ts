import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { RecordEntry, Secret } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
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

const hearth = new Hearth({
  secrets: async (name) => (name === secret.name ? secret : null),
  recorder: (sandbox) => ({ add: (entry) => entriesOf(sandbox).push(entry) }),
  gateway: {
    resolve: async (name) => {
      resolved.push(name)
      return ['127.0.0.1']
    },
    extraRoots: [authority.certificate],
  },
})

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
}

afterAll(async () => {
  await hearth.dispose()
  servers.close()
}, 120_000)
