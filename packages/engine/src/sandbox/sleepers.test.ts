import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Hearth } from '../hearth.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-sleepers-'))
const problems: string[] = []
const hearth = new Hearth({ home, spareKeepers: 0, onProblem: (what) => void problems.push(what) })
const works = (await hearth.rungs()).some(({ rung, probe }) => rung === 'gvisor' && probe.available)
afterAll(async () => {
  for (const { id } of await hearth.survey()) await hearth.discard(id)
  await hearth.dispose()
  rmSync(home, { recursive: true, force: true })
})

describe.runIf(process.getuid?.() === 0)('a hibernation whose clean-up fails', { timeout: 60_000 }, () => {
  it('is one all the same, and the sandbox wakes once what was in the way has gone', async () => {
    const sandbox = await hearth.create({ rung: 'process', template: 'host' })
    await sandbox.exec('echo kept >/tmp/kept')
    const stuck = join(home, 'sandboxes', sandbox.id, 'stuck')
    await mkdir(stuck)
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', stuck])
    try {
      expect(await sandbox.hibernate()).toMatchObject({ memory: false })
      expect(problems).toContain(`ending the machine of ${sandbox.id}, which sleeps`)
      expect(await hearth.survey()).toMatchObject([{ id: sandbox.id, alive: false, sleep: { memory: false } }])
      await hearth.sweep({ graceMs: 0 })
      expect(await hearth.survey()).toMatchObject([{ id: sandbox.id, sleep: { memory: false } }])
    } finally {
      execFileSync('umount', [stuck])
    }
    await using awake = await hearth.wake(sandbox.id)
    expect((await awake.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  })
})

describe.runIf(works)('memory that was captured by another runsc or guest', { timeout: 60_000 }, () => {
  const wayOut = { code: 'snapshot_incompatible', suggestion: expect.stringContaining('--memory none') as unknown }

  /** As an upgrade leaves it. */
  async function alter(snapshot: string): Promise<void> {
    const path = join(home, 'store/snapshots', snapshot, 'manifest.json')
    const manifest = JSON.parse(await readFile(path, 'utf8')) as { memory: { facts: Record<string, string> } | null }
    if (manifest.memory !== null) manifest.memory.facts['guest'] = 'another'
    await writeFile(path, JSON.stringify(manifest))
  }

  it('is refused with the way out, which gives the files of one that sleeps', async () => {
    const sandbox = await hearth.create({ rung: 'gvisor', template: 'host' })
    await sandbox.exec('echo kept >/tmp/kept')
    expect(await sandbox.hibernate()).toMatchObject({ memory: true })
    for (const id of readdirSync(join(home, 'store/snapshots'))) await alter(id)
    await expect(hearth.wake(sandbox.id)).rejects.toMatchObject(wayOut)
    await using awake = await hearth.wake(sandbox.id, { memory: 'none' })
    expect((await awake.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  })

  it('is refused with the way out, which creates from the files', async () => {
    await using sandbox = await hearth.create({ rung: 'gvisor', template: 'host' })
    await sandbox.exec('echo kept >/tmp/kept')
    const { id, memory } = await sandbox.snapshot()
    expect(memory).toBe(true)
    await alter(id)
    await expect(hearth.create({ from: id })).rejects.toMatchObject(wayOut)
    await using made = await hearth.create({ from: id, memory: 'none' })
    expect((await made.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  })
})
