import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_LIMITS, newSandboxId, newSnapshotId, type MemoryMode } from '@hearth/contract'
import { afterAll, describe, expect, it } from 'vitest'
import { readHostFacts } from '../../host/facts.ts'
import { hostPaths } from '../../host/host.ts'
import type { Captured, Machine } from '../../machine/machine.ts'
import { runCommand } from '../../machine/run-command.fixture.ts'
import type { SnapshotManifest, StoredSnapshot } from '../../store/snapshot-manifest.ts'
import { readHostTemplate } from '../../templates/host-template.ts'
import { DriverRegistry } from '../registry.ts'
import { checkFacts } from './checkpoint-facts.ts'
import { GvisorRuntime } from './gvisor-runtime.ts'
import { LinkDriver } from '../link-driver.ts'

const home = await mkdtemp(join(tmpdir(), 'hearth-memory-'))
const paths = hostPaths({ ...process.env, HEARTH_HOME: home })
const { services } = new DriverRegistry(paths, await readHostFacts(), 0)
const runtime = new GvisorRuntime()
const driver = new LinkDriver(runtime, services)
const template = await readHostTemplate(paths)
const probe = await driver.probe()
const works = probe.available && probe.capabilities.memory
afterAll(async () => {
  await driver.dispose()
  await services.keepers.dispose()
  await rm(home, { recursive: true, force: true })
})

async function launch(from: StoredSnapshot | null = null): Promise<Machine> {
  const id = newSandboxId()
  const directory = join(paths.sandboxes, id)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return await driver.launch({
    id,
    directory,
    template,
    from,
    volumes: [],
    limits: { ...DEFAULT_LIMITS, diskBytes: 32 * 1024 * 1024 },
    hostname: id.slice(-10),
    environment: { PATH: '/usr/bin:/bin' },
    workdir: '/',
    user: 'root',
  })
}

async function capture(machine: Machine, mode: MemoryMode): Promise<{ captured: Captured; from: StoredSnapshot }> {
  const id = newSnapshotId()
  const directory = join(paths.store, 'snapshots', id)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const captured = await machine.capture(directory, mode)
  const manifest = {
    info: { id, limits: DEFAULT_LIMITS },
    disk: captured.disk,
    memory: captured.memory,
    hostTools: null,
  }
  return { captured, from: { id, directory, manifest: manifest as unknown as SnapshotManifest } }
}

/** Ranges of ids whose owner is like that. */
async function slots(owner: RegExp): Promise<string[]> {
  const names = await readdir(join(home, 'ids'))
  const owners = await Promise.all(names.map((name) => readFile(join(home, 'ids', name), 'utf8')))
  return names.filter((_, index) => owner.test(owners[index] ?? ''))
}

/** A file that only grows: it has a size at any instant of a capture. */
const COUNTER = '(while sleep 0.05; do printf . >> /tmp/count; done) >/dev/null 2>&1 &'

describe.skipIf(!works)('memory of gVisor', { timeout: 60_000 }, () => {
  it('goes on in children, made ahead of time or not, from one state; they leave nothing', async () => {
    const parent = await launch()
    await runCommand(parent, `${COUNTER} echo kept > /tmp/file; sleep 0.5`)
    const { captured, from } = await capture(parent, 'required')
    expect(captured.outcome).toEqual({ memory: true, reason: null })
    const cold = await launch(from)
    await runtime.memory.ahead.fill(template, services, 2)
    const waiting = await slots(/^process /)
    expect(waiting).toHaveLength(2)
    const warm = await Promise.all([launch(from), launch(from)])
    // Those that waited have become theirs.
    expect(await slots(/^sb_/)).toEqual(expect.arrayContaining(waiting))
    const children = [cold, ...warm]
    const said = await Promise.all(
      children.map((child) =>
        runCommand(
          child,
          'cat /tmp/file; hostname; a=$(wc -c < /tmp/count); sleep 0.5; [ $(wc -c < /tmp/count) -gt $a ] && echo on',
        ),
      ),
    )
    for (const text of said) expect(text).toMatch(/^kept\n[0-9a-z]{10}\non\n$/)
    expect(new Set(said).size).toBe(3)
    await Promise.all([parent, ...children].map((machine) => machine.kill()))
    await driver.dispose()
    expect(await readdir(join(home, 'ids'))).toEqual([])
    expect(await readdir(paths.sandboxes)).toEqual([])
  })

  it('a deleted file that is still open is a reason, and the sandbox goes on', async () => {
    const box = await launch()
    try {
      await runCommand(
        box,
        '(exec 3>/tmp/gone; rm /tmp/gone; sleep 100) >/dev/null 2>&1 & sleep 0.3; echo here > /tmp/file',
      )
      await expect(capture(box, 'required')).rejects.toMatchObject({
        code: 'memory_unsupported',
        context: { reason: 'a process has a file open that was deleted: gone' },
      })
      const { captured } = await capture(box, 'auto')
      expect(captured.outcome).toMatchObject({ memory: false })
      expect(captured.outcome.reason).toContain('a file open that was deleted: gone')
      expect(await runCommand(box, 'cat /tmp/file')).toBe('here\n')
    } finally {
      await box.kill()
    }
  })

  it('no room for it is said as such, whatever was asked for, and the sandbox goes on', async () => {
    const box = await launch()
    const directory = join(paths.store, 'snapshots', newSnapshotId())
    await mkdir(directory, { recursive: true, mode: 0o700 })
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory])
    try {
      await runCommand(box, 'head -c 20000000 /dev/urandom > /dev/shm/much')
      for (const mode of ['required', 'auto'] as const) {
        await expect(box.capture(directory, mode)).rejects.toMatchObject({ code: 'store_full' })
        await rm(join(directory, 'disk'), { recursive: true, force: true })
      }
      expect(await runCommand(box, 'wc -c < /dev/shm/much')).toBe('20000000\n')
    } finally {
      await box.kill()
      execFileSync('umount', [directory])
    }
  })

  it('a link in the place of /tmp leads nowhere', async () => {
    const box = await launch()
    const { from } = await capture(box, 'none')
    await box.kill()
    // Another rung, or whoever made a snapshot that was imported, can have put it there.
    const tmp = join(from.directory, 'disk', 'upper', 'tmp')
    await rm(tmp, { recursive: true })
    await symlink('/', tmp)
    await expect(launch(from)).rejects.toMatchObject({ code: 'launch_failed' })
    expect(await readdir(paths.sandboxes)).toEqual([])
  })
})

describe('what a checkpoint depends on', () => {
  const here = { runsc: 'runsc 1', platform: 'systrap', architecture: 'x64', guest: 'ours', cpuFeatures: 'avx sse' }
  const manifest = (facts: Record<string, string>, bytes = 1): SnapshotManifest =>
    ({
      info: { id: 'sn_1', limits: DEFAULT_LIMITS },
      memory: { runtime: 'runsc', bytes, facts },
    }) as unknown as SnapshotManifest

  it('is compared, and a refusal names what differs', () => {
    expect(() => checkFacts(manifest(here), DEFAULT_LIMITS, here)).not.toThrow()
    expect(() => checkFacts(manifest({ ...here, cpuFeatures: 'sse' }), DEFAULT_LIMITS, here)).not.toThrow()
    const refused = (facts: Record<string, string>, limits = DEFAULT_LIMITS, bytes = 1): string => {
      try {
        checkFacts(manifest({ ...here, ...facts }, bytes), limits, here)
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    expect(refused({ runsc: 'runsc 2' })).toContain('runsc was runsc 2 and is runsc 1')
    expect(refused({ platform: 'ptrace' })).toContain('platform was ptrace')
    expect(refused({ guest: 'another' })).toContain('guest was another')
    expect(refused({ cpuFeatures: 'avx avx512f sse' })).toContain('this processor lacks avx512f')
    expect(refused({}, { ...DEFAULT_LIMITS, pids: DEFAULT_LIMITS.pids + 1 })).toContain('pids')
    expect(refused({}, DEFAULT_LIMITS, DEFAULT_LIMITS.memoryBytes + 1)).toContain('memory needs')
  })
})
