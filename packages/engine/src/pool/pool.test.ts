import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_LIMITS, newSandboxId } from '@hearth/contract'
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Hearth } from '../hearth.ts'
import { configOf, layer } from '../templates/oci/test-registry/images.ts'
import { makeTar } from '../templates/tar/make-tar.ts'
import { Demand } from './demand.ts'
import type { Prepared } from '../sandbox/launcher.ts'
import type { Outfit } from '../sandbox/sandbox-network.ts'
import { MOST_SHAPES } from './pool.ts'
import { poolSettings, type PoolOptions } from './pool-options.ts'

const MiB = 1024 ** 2
const home = mkdtempSync(join(tmpdir(), 'hearth-pool-'))
const problems: string[] = []
const onProblem = (what: string): void => void problems.push(what)
const open = (pool: PoolOptions): Hearth => new Hearth({ home, spareKeepers: 0, pool, onProblem })
const SPEC = { rung: 'process', template: 'host' } as const

function waiting(): string[] {
  return existsSync(join(home, 'pool')) ? readdirSync(join(home, 'pool')) : []
}

beforeEach(() => vi.stubEnv('HEARTH_POOL', ''))
afterEach(() => {
  vi.unstubAllEnvs()
  if (waiting().length > 0) throw new Error('machines were left behind')
})
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** So many sandboxes at once, and their end. */
async function burst(hearth: Hearth, count: number): Promise<void> {
  const made = await Promise.all(Array.from({ length: count }, () => hearth.create(SPEC)))
  await Promise.all(made.map((sandbox) => sandbox.kill()))
}

describe('whether there is a pool', () => {
  it('is off for a program that says nothing, and everywhere with HEARTH_POOL=off', () => {
    expect(poolSettings(undefined, {}).memoryBytes).toBe(0)
    expect(poolSettings(false, { HEARTH_POOL: 'on' }).memoryBytes).toBe(0)
    expect(poolSettings({}, {}).memoryBytes).toBe(256 * MiB)
    expect(poolSettings({ memoryBytes: MiB }, { HEARTH_POOL: 'on' }).memoryBytes).toBe(MiB)
    expect(poolSettings(undefined, { HEARTH_POOL: 'on' }).memoryBytes).toBe(256 * MiB)
    expect(poolSettings({}, { HEARTH_POOL: 'off' }).memoryBytes).toBe(0)
    expect(() => poolSettings({}, { HEARTH_POOL: '7' })).toThrow('HEARTH_POOL is on or off')
  })

  it('follows what was asked for lately', () => {
    const demand = new Demand(4)
    expect(demand.wanted(0, 100_000)).toBe(0)
    for (const now of [0, 1, 2, 3, 4, 5]) demand.note(now)
    expect(demand.wanted(10, 100_000)).toBe(4)
    expect(demand.wanted(60_004, 100_000)).toBe(1)
    expect(demand.wanted(100_005, 100_000)).toBe(0)
  })
})

describe('the pool', () => {
  it('starts nothing while sandboxes are made, one for each that was asked for afterwards, and ends them with its owner', async () => {
    await using hearth = open({ quietMs: 0, perShape: 3 })
    const made = await Promise.all(Array.from({ length: 5 }, () => hearth.create(SPEC)))
    expect(hearth.pool.report()).toMatchObject({ waiting: 0, claimed: 0, missed: 5 })
    await hearth.pool.fill()
    expect(hearth.pool.report()).toMatchObject({ waiting: 3, shapes: [{ wanted: 3, waiting: 3, problem: null }] })
    expect(hearth.pool.heldBytes).toBeGreaterThan(0)
    // They are nobody's, and nobody sees them.
    expect((await hearth.list()).map(({ id }) => id).toSorted()).toEqual(made.map(({ id }) => id).toSorted())
    expect(await hearth.survey()).toHaveLength(5)
    expect(waiting()).toHaveLength(3)
    await hearth.sweep({ graceMs: 0 })
    expect(waiting()).toHaveLength(3)
    await using claimed = await hearth.create({ ...SPEC, limits: { openFiles: 77, outputBytes: 4096 } })
    expect(claimed.info.limits).toEqual({ ...DEFAULT_LIMITS, openFiles: 77, outputBytes: 4096 })
    expect((await claimed.exec('ulimit -n')).stdout).toBe('77\n')
    expect(hearth.pool.report().claimed).toBe(1)
    await hearth.create({ ...SPEC, limits: { pids: 50 } })
    expect(hearth.pool.report()).toMatchObject({ claimed: 1, missed: 6 })
  })

  it('holds no more memory than it may, and nothing when the host has too little', async () => {
    let available = 1024 ** 4
    await using hearth = open({ memoryBytes: 5 * MiB, quietMs: 0, availableBytes: () => available })
    await burst(hearth, 8)
    await hearth.pool.fill()
    const { waiting: count, heldBytes, shapes } = hearth.pool.report()
    expect(shapes[0]?.wanted).toBe(8)
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(8)
    expect(heldBytes).toBeLessThanOrEqual(5 * MiB)
    available = 100 * MiB
    await (await hearth.create({ ...SPEC, limits: { pids: 60 } })).kill()
    await hearth.pool.fill()
    expect(hearth.pool.report()).toMatchObject({ waiting: 0, heldBytes: 0 })
    available = 1024 ** 4
    await hearth.pool.fill()
    expect(hearth.pool.report().waiting).toBeGreaterThan(0)
    await hearth.pool.set({ memoryBytes: 0 })
    expect(waiting()).toEqual([])
    await hearth.pool.fill()
    expect(hearth.pool.report()).toMatchObject({ memoryBytes: 0, waiting: 0 })
  })

  it('forgets the shapes that were asked for first, beyond a number', async () => {
    await using hearth = open({ quietMs: 3_600_000 })
    await using sandbox = await hearth.create(SPEC)
    const { record } = sandbox
    const driver = {
      name: 'never',
      rung: 'process',
      launchUnclaimed: () => Promise.reject(new Error('nobody waits here')),
    }
    const asked = Array.from({ length: MOST_SHAPES + 6 }, (_, index) => 64 * MiB + index)
    for (const memoryBytes of asked) {
      const limits = { ...DEFAULT_LIMITS, memoryBytes }
      const prepared = {
        driver,
        probe: { label: 'never' },
        template: { kind: 'host', name: 'host', digest: '' },
        limits,
        from: null,
        volumes: [],
      }
      expect(await hearth.pool.claim(prepared as unknown as Prepared, record, {} as Outfit)).toBeNull()
    }
    const known = hearth.pool.report().shapes.map(({ limits }) => limits.memoryBytes)
    expect(known).toEqual(asked.slice(-MOST_SHAPES).toReversed())
  })

  it('gives up machines that nobody asks for', async () => {
    await using hearth = open({ quietMs: 0, idleMs: 300 })
    await burst(hearth, 1)
    await hearth.pool.fill()
    expect(hearth.pool.report().waiting).toBe(1)
    await vi.waitFor(async () => {
      await hearth.pool.set({ memoryBytes: 256 * MiB })
      expect(hearth.pool.report()).toMatchObject({ waiting: 0, shapes: [] })
    }, 10_000)
  })

  it('takes no machine that has ended, and is not harmed by what cannot be started or claimed', async () => {
    await using hearth = open({ quietMs: 0, perShape: 1 })
    await burst(hearth, 1)
    await hearth.pool.fill()
    await expect(hearth.create({ ...SPEC, user: 'nobody-like-this' })).rejects.toMatchObject({ code: 'launch_failed' })
    expect(hearth.pool.report()).toMatchObject({ claimed: 0, missed: 2, shapes: [{ claimed: 0, missed: 2 }] })
    expect(problems).toEqual(['giving a sandbox a machine of the pool'])
    await hearth.pool.fill()
    const id = newSandboxId()
    await using claimed = await hearth.create(SPEC, { id })
    expect(hearth.pool.report()).toMatchObject({ claimed: 1 })
    await hearth.pool.fill()
    // Never used before is a promise of the caller's; what is there stays whole.
    await expect(hearth.create(SPEC, { id })).rejects.toMatchObject({ code: expect.any(String) as unknown })
    expect((await claimed.exec('hostname')).stdout.trim()).toBe(id.replace('_', '-'))
    await hearth.pool.fill()
    const [dying] = waiting()
    process.kill(Number.parseInt(readFileSync(join(home, 'pool', dying ?? '', 'keeper.pid'), 'utf8'), 10), 'SIGKILL')
    await using other = await hearth.create(SPEC)
    expect((await other.exec('echo fine')).stdout).toBe('fine\n')
    const given = new AbortController()
    await hearth.pool.fill()
    const creating = hearth.create(SPEC, { signal: given.signal })
    given.abort()
    await expect(creating).rejects.toMatchObject({ code: 'aborted' })
  })

  it('has machines that each have an identifier of their own, also where the template has one', async () => {
    await using hearth = open({ quietMs: 0, perShape: 2 })
    const path = join(home, 'identified.tar')
    const shared = '0123456789abcdef0123456789abcdef\n'
    saveImage(path, shared, 'etc/machine-id')
    const spec = { rung: 'process', template: `archive:${path}` } as const
    await Promise.all([1, 2].map(async () => await (await hearth.create(spec)).kill()))
    await hearth.pool.fill()
    const made = await Promise.all([hearth.create(spec), hearth.create(spec)])
    expect(hearth.pool.report().claimed).toBe(2)
    const identifiers = await Promise.all(made.map((sandbox) => sandbox.files.readText('/etc/machine-id')))
    expect(new Set([shared, ...identifiers]).size).toBe(3)
    for (const identifier of identifiers) expect(identifier).toMatch(/^[0-9a-f]{32}\n$/)
  })

  it('has nothing of a template that was made anew or removed', async () => {
    await using hearth = open({ quietMs: 0 })
    const path = join(home, 'image.tar')
    const template = `archive:${path}`
    const spec = { rung: 'process', template } as const
    saveImage(path, 'first')
    await (await hearth.create(spec)).kill()
    await hearth.pool.fill()
    expect(hearth.pool.report().shapes).toMatchObject([{ template, waiting: 1 }])
    saveImage(path, 'second')
    await using made = await hearth.create(spec)
    expect(await made.files.readText('/file')).toBe('second')
    await made.kill()
    expect(hearth.pool.report()).toMatchObject({ claimed: 0, shapes: [{ template, waiting: 0 }] })
    await hearth.pool.fill()
    expect(hearth.pool.report().waiting).toBe(1)
    await hearth.removeTemplate(template)
    expect(waiting()).toEqual([])
    // The same files again, in another place: what lay on the old one is of no use.
    await (await hearth.create(spec)).kill()
    await hearth.pool.fill()
    await using elsewhere = new Hearth({ home, spareKeepers: 0 })
    await elsewhere.removeTemplate(template)
    await (await hearth.create(spec)).kill()
    expect(hearth.pool.report().claimed).toBe(0)
  })
})

function saveImage(path: string, content: string, file = 'file'): void {
  const each = layer([{ path: file, content }], 'none')
  writeFileSync(
    path,
    makeTar([
      { path: 'manifest.json', content: JSON.stringify([{ Config: 'config.json', Layers: ['layer.tar'] }]) },
      { path: 'config.json', content: configOf([each]) },
      { path: 'layer.tar', content: each.tar },
    ]),
  )
}
