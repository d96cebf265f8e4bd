import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SnapshotId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { expectRefusal } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { captureMachine } from '../packages/engine/src/drivers/microvm/capture-machine.ts'
import { ControlSocket } from '../packages/engine/src/drivers/microvm/control-socket.ts'
import { UPPER_DISK } from '../packages/engine/src/drivers/microvm/upper-disk.ts'
import { ladder } from './support/ladder.ts'
import { shareTemplate } from './support/small-store.ts'

const hearth = new Hearth()
const step = (await ladder(hearth)).find(({ rung }) => rung === 'microvm')
const can = step?.probe.available === true && step.probe.capabilities.memory
const spec = { rung: 'microvm', template: 'debian' } as const

afterAll(() => hearth.dispose())

/** The one process below a keeper that has no child: QEMU. */
function machineOf(id: string): number {
  let pid = Number.parseInt(readFileSync(join(hearth.paths.sandboxes, id, 'keeper.pid'), 'utf8'), 10)
  for (;;) {
    const child = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10)
    if (Number.isNaN(child)) return pid
    pid = child
  }
}

/** The files of the store that a process has open, and whether it may write to them. */
function storeFiles(pid: number): { path: string; writable: boolean }[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((number) => {
    const path = readlinkSync(`/proc/${pid}/fd/${number}`)
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${number}`, 'utf8'))?.[1] ?? ''
    const writable = (Number.parseInt(flags, 8) & 3) !== 0
    return path.startsWith(hearth.paths.store) ? [{ path: path.slice(hearth.paths.store.length), writable }] : []
  })
}

/** Of a sandbox with a process that counts. */
async function countingSnapshot(): Promise<SnapshotId> {
  await using sandbox = await hearth.create(spec)
  await using _counter = await sandbox.spawn('i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.1; done')
  await expect.poll(async () => (await sandbox.exec('cat /tmp/count')).stdout, { timeout: 10_000 }).not.toBe('')
  return (await sandbox.snapshot({ memory: 'required' })).id
}

/** The same files in another home, but neither the same inodes nor anything that was made of them. The root of it there. */
async function copyTemplate(home: string): Promise<string> {
  await shareTemplate(home, spec.template)
  unlinkSync(join(home, 'templates'))
  execFileSync('cp', ['-a', '--reflink=auto', hearth.paths.templates, join(home, 'templates')])
  unlinkSync(join(home, 'cache/microvm-images'))
  const template = await hearth.templates.resolve(spec.template, {})
  if (template.kind !== 'directory') throw new Error('the template has no root of its own')
  return join(home, 'templates', template.root.slice(hearth.paths.templates.length))
}

describe.runIf(can)('microVMs that go on from a baked one', { timeout: 120_000 }, () => {
  test('boot where none can be made, and why is told', async () => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-unbaked-'))
    try {
      await shareTemplate(home, spec.template)
      const problems: string[] = []
      const onProblem = (what: string, error: unknown): void => void problems.push(`${what}: ${String(error)}`)
      await using engine = new Hearth({ home, spareKeepers: 0, onProblem })
      // Where they lie can be no directory.
      mkdirSync(engine.paths.store, { recursive: true })
      writeFileSync(join(engine.paths.store, 'baked'), '')
      await using sandbox = await engine.create(spec)
      expect((await sandbox.exec('echo booted')).stdout).toBe('booted\n')
      expect(problems).toEqual([expect.stringMatching(/tried again in 60 s \(template debian\): .*ENOTDIR/)])
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })

  test('have nothing of each other but what they may only read', async () => {
    await using first = await hearth.create({ ...spec, limits: { pids: 40 } })
    await using second = await hearth.create(spec)
    const say =
      'hostname; cat /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id; head -c 8 /dev/urandom | od -x'
    const said = await Promise.all([first, second].map(async (one) => (await one.exec(say)).stdout.trim().split('\n')))
    for (const [index, line] of (said[0] ?? []).entries()) {
      // The last line of od is the offset.
      if (index < 4) expect(line).not.toBe(said[1]?.[index])
    }
    const clock = Number((await second.exec('date +%s%3N')).stdout)
    expect(Math.abs(clock - Date.now())).toBeLessThan(5000)
    // Its own limit of processes, not that of the one that was baked.
    const many = await first.exec('for i in $(seq 60); do sleep 5 & done; echo made', { timeoutMs: 60_000 })
    expect(many.stderr).toMatch(/fork|Cannot/)
    const shared = storeFiles(machineOf(first.id)).filter(({ path }) => !path.startsWith('/areas/'))
    expect(shared.map(({ path }) => path.split('/').at(-1))).toContain('ram')
    expect(shared.filter(({ writable }) => writable)).toEqual([])
  })

  test('go on in another home, on the image of the template that was made there', { timeout: 300_000 }, async () => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-elsewhere-'))
    const snapshot = await countingSnapshot()
    try {
      await copyTemplate(home)
      await using elsewhere = new Hearth({ home, spareKeepers: 0 })
      const { id } = await elsewhere.snapshots.import(await hearth.snapshots.export(snapshot))
      await using sandbox = await elsewhere.create({ from: id, memory: 'required' })
      expect(sandbox.restored).toMatchObject({ memory: true })
      const counted = async (): Promise<number> => Number((await sandbox.exec('cat /tmp/count')).stdout)
      const before = await counted()
      await expect.poll(counted, { timeout: 10_000 }).toBeGreaterThan(before)
      expect((await sandbox.exec('ls /usr/lib | wc -l; md5sum /usr/bin/python3.11')).exitCode).toBe(0)
    } finally {
      await hearth.snapshots.remove(snapshot)
      rmSync(home, { recursive: true, force: true })
    }
  })

  test('do not go on where the files of the template are others, and why is said', { timeout: 300_000 }, async () => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-other-'))
    const snapshot = await countingSnapshot()
    try {
      const root = await copyTemplate(home)
      utimesSync(join(root, 'etc/passwd'), 1, 1)
      await using elsewhere = new Hearth({ home, spareKeepers: 0 })
      const { id } = await elsewhere.snapshots.import(await hearth.snapshots.export(snapshot))
      const refused = elsewhere.create({ from: id, memory: 'required' })
      await expect(refused).rejects.toMatchObject({
        code: 'snapshot_incompatible',
        message: expect.stringContaining('disk image of the template') as string,
      })
      await using files = await elsewhere.create({ from: id, memory: 'none' })
      expect(Number((await files.exec('cat /tmp/count')).stdout)).toBeGreaterThan(0)
    } finally {
      await hearth.snapshots.remove(snapshot)
      rmSync(home, { recursive: true, force: true })
    }
  })

  test('go on when there is no room for their memory, which is said as such', async () => {
    await using sandbox = await hearth.create(spec)
    const directory = join(hearth.paths.sandboxes, sandbox.id)
    const small = mkdtempSync(join(tmpdir(), 'hearth-small-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', small])
    try {
      const capture = captureMachine({
        guest: hearth.paths.guest,
        directory,
        memoryBytes: sandbox.info.limits.memoryBytes,
        disk: join(hearth.paths.store, 'areas', sandbox.id, UPPER_DISK),
        target: join(small, 'memory'),
        captureDisk: async () => undefined,
        stop: null,
      })
      await expectRefusal(capture, 'store_full')
      expect(readdirSync(small)).toEqual([])
      expect((await sandbox.exec('echo alive')).stdout).toBe('alive\n')
    } finally {
      execFileSync('umount', [small])
      rmSync(small, { recursive: true })
    }
  })

  test('go on when the engine that captured one died while it stood still', async () => {
    const other = new Hearth()
    const { id } = await other.create(spec)
    const directory = join(hearth.paths.sandboxes, id)
    {
      using control = await ControlSocket.open(directory, 10_000)
      writeFileSync(join(directory, 'capturing'), '')
      await control.execute('stop', {}, 10_000)
    }
    await other.release()
    await using adopted = await hearth.adopt(id)
    expect((await adopted.exec('echo awake')).stdout).toBe('awake\n')
  })
})
