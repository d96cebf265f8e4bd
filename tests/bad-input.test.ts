import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ErrorCode, SandboxSpec } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { eventually, expectRefusal } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { takeInventory } from './support/inventory.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-bad-input-'))
const hearth = new Hearth({ home, spareKeepers: 0 })

const MALFORMED: Readonly<Record<string, unknown>> = {
  'no object': 5,
  null: null,
  'a list': [],
  'an unknown field': { colour: 'red' },
  'an unknown rung': { rung: 'magic' },
  'a rung of another type': { rung: 3 },
  'an unknown floor': { atLeast: 'docker' },
  'an empty template': { template: '' },
  'a template too long': { template: 'x'.repeat(513) },
  'a limit that is no number': { limits: { cpus: '1' } },
  'a negative limit': { limits: { memoryBytes: -1 } },
  'a limit that is not whole': { limits: { pids: 20.5 } },
  'an infinite limit': { limits: { cpus: Number.POSITIVE_INFINITY } },
  'a limit that is not a number': { limits: { cpus: Number.NaN } },
  'a limit too small': { limits: { memoryBytes: 1 } },
  'a limit too large': { limits: { openFiles: 2 ** 40 } },
  'an unknown limit': { limits: { gpus: 1 } },
  'a variable with an equals sign': { env: { 'A=B': 'x' } },
  'a variable with NUL': { env: { A: 'x\0y' } },
  'a variable that is no text': { env: { A: 5 } },
  'a relative working directory': { workdir: 'work' },
  'a working directory with NUL': { workdir: '/a\0b' },
  'a user with a path': { user: '../etc/passwd' },
  'a user with a newline': { user: 'root\nroot' },
  'a host name with a space': { hostname: 'a b' },
  'a host name too long': { hostname: 'a'.repeat(64) },
  'a lifetime too short': { ttlMs: 1 },
  'a lifetime too long': { ttlMs: 10 ** 12 },
  'metadata that is no text': { metadata: { a: 1 } },
  'metadata too long': { metadata: { a: 'x'.repeat(2000) } },
}

describe('a malformed spec', () => {
  for (const [name, spec] of Object.entries(MALFORMED)) {
    test(name, async () => {
      const error = await expectRefusal(hearth.create(spec as SandboxSpec), 'invalid_request')
      expect(error.message).toMatch(/^spec/)
      expect(error.suggestion.length).toBeGreaterThan(10)
    })
  }
})

describe('a template', () => {
  const UNKNOWN: Readonly<Record<string, readonly ErrorCode[]>> = {
    'no-such-template': ['template_not_found', 'registry_failed'],
    '../../etc': ['template_not_found', 'invalid_request'],
    'archive:/no/such/archive.tar': ['template_not_found', 'image_invalid', 'registry_failed'],
    'archive:/etc/hostname': ['image_invalid', 'template_not_found'],
    'archive:relative.tar': ['template_not_found', 'invalid_request', 'image_invalid'],
    '127.0.0.1:1/nothing:here': ['registry_failed', 'template_not_found'],
    'Bad Name!': ['template_not_found', 'invalid_request'],
  }
  for (const [name, codes] of Object.entries(UNKNOWN)) {
    test(`called ${name}`, async () => {
      await expectRefusal(hearth.create({ rung: 'process', template: name }), ...codes)
    })
  }
})

describe('a demand', () => {
  test('that no rung meets is refused with the reason, never lowered', async () => {
    const reports = await hearth.rungs()
    for (const report of reports) {
      if (report.probe.available || reports.some((other) => other.rung === report.rung && other.probe.available))
        continue
      const error = await expectRefusal(hearth.create({ rung: report.rung }), 'rung_unavailable')
      expect(error.message).toContain(report.rung)
    }
  })

  test('for a rung and a floor above it contradicts itself', async () => {
    await expectRefusal(hearth.create({ rung: 'process', atLeast: 'gvisor' }), 'invalid_request', 'rung_unavailable')
  })

  test('that is met gives what was asked for', async () => {
    await using sandbox = await hearth.create({ atLeast: 'process', template: 'host' })
    expect(['process', 'container', 'gvisor', 'microvm']).toContain(sandbox.info.rung)
  })

  test('for the tools of the host on a rung that cannot show them', async () => {
    const reports = await hearth.rungs()
    const without = reports.find((report) => report.probe.available && !report.probe.capabilities.hostTemplate)
    if (without === undefined) return
    await expectRefusal(
      hearth.create({ rung: without.rung, template: 'host' }),
      'template_unsupported',
      'rung_unavailable',
    )
  })
})

describe('what does not exist', () => {
  test('a sandbox to adopt', async () => {
    await expectRefusal(hearth.adopt('sb_00000000000000000000'), 'sandbox_not_found')
    for (const id of ['', '../..', 'sb_', 'sb_0000000000000000000/', 5]) {
      await expectRefusal(hearth.adopt(id as string), 'invalid_request')
    }
  })

  test('a guest program', async () => {
    await using other = new Hearth({ home, guest: '/no/such/guest', spareKeepers: 0 })
    await expectRefusal(other.create({ rung: 'process', template: 'host' }), 'launch_failed', 'rung_unavailable')
  })

  test('a signal that is aborted before', async () => {
    const creating = hearth.create({ rung: 'process', template: 'host' }, { signal: AbortSignal.abort() })
    await expectRefusal(creating, 'aborted')
  })
})

test('nothing is left behind by anything above', async () => {
  // What serves all creates of one Hearth lives as long as it does.
  await hearth.dispose()
  const left = { processes: [], mounts: [], directories: [] }
  await eventually('everything is gone', () => takeInventory(home).processes.length === 0).catch(() => undefined)
  expect(takeInventory(home)).toMatchObject(left)
})

afterAll(async () => {
  await hearth.dispose()
  rmSync(home, { recursive: true, force: true })
})
