import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { Hearth } from '../hearth.ts'
import { cgroupMark } from '../host/cgroups.ts'
import { endKeeper } from '../host/keeper-process.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-sweep-'))
const SPEC = { rung: 'process', template: 'host' } as const
afterAll(() => rmSync(home, { recursive: true, force: true }))

const directoryOf = (id: string): string => join(home, 'sandboxes', id)
const recordOf = (id: string): string => join(directoryOf(id), 'sandbox.json')

/** A sandbox whose owner has gone, and another process that sweeps. */
async function released(): Promise<{ id: string; sweeper: Hearth; problems: string[] }> {
  const maker = new Hearth({ home, spareKeepers: 0 })
  const sandbox = await maker.create(SPEC)
  await sandbox.exec('echo kept >/tmp/kept')
  await maker.release()
  const problems: string[] = []
  const sweeper = new Hearth({ home, spareKeepers: 0, onProblem: (what) => void problems.push(what) })
  onTestFinished(async () => {
    for (const { id } of await sweeper.survey()) await sweeper.discard(id)
    await sweeper.dispose()
  })
  return { id: sandbox.id, sweeper, problems }
}

describe('a record that cannot be read', () => {
  it('of a newer Hearth costs no sandbox that runs', async () => {
    const { id, sweeper, problems } = await released()
    const record = readFileSync(recordOf(id), 'utf8')
    writeFileSync(recordOf(id), record.replace('"state":"running"', '"state":"dreaming"'))
    await sweeper.sweep({ graceMs: 0 })
    expect(problems).toContain(`sweeping sandbox ${id}`)
    expect(await sweeper.survey()).toMatchObject([{ id, unclear: true }])
    expect(await sweeper.list()).toEqual([])
    await expect(sweeper.adopt(id)).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringContaining('cannot be understood by this version') as unknown,
    })
    writeFileSync(recordOf(id), record)
    const adopted = await sweeper.adopt(id)
    expect((await adopted.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  })

  it('costs none that sleeps, and nothing that others sleep in', async () => {
    const { id, sweeper, problems } = await released()
    await (await sweeper.adopt(id)).hibernate()
    const snapshots = readdirSync(join(home, 'store/snapshots'))
    expect(snapshots).toHaveLength(1)
    await rename(recordOf(id), `${recordOf(id)}.kept`)
    // As a disk that fails: it is there, and cannot be read.
    await mkdir(recordOf(id))
    await sweeper.sweep({ graceMs: 0 })
    expect(problems).toContain(`sweeping sandbox ${id}`)
    expect(readdirSync(join(home, 'store/snapshots'))).toEqual(snapshots)
    await rm(recordOf(id), { recursive: true })
    await rename(`${recordOf(id)}.kept`, recordOf(id))
    const awake = await sweeper.wake(id)
    expect((await awake.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  })

  it.each(['', '{"info":'])(
    'was cut off by a crash when it is %j: what is left goes, unless something runs',
    async (text) => {
      const { id, sweeper, problems } = await released()
      await using other = await sweeper.create(SPEC)
      await writeFile(recordOf(id), text)
      await sweeper.sweep({ graceMs: 0 })
      expect(existsSync(directoryOf(id))).toBe(true)
      expect(problems).toContain(`sweeping sandbox ${id}`)
      expect((await sweeper.list()).map((info) => info.id)).toEqual([other.id])
      expect(problems).toContain(`reading the record of ${id}`)
      await endKeeper(directoryOf(id))
      await sweeper.sweep({ graceMs: 0 })
      expect(existsSync(directoryOf(id))).toBe(false)
    },
  )
})

describe('cgroups', () => {
  const groups = (hearth: Hearth): Promise<string[]> =>
    hearth.list().then((all) =>
      all.flatMap(({ id }) => {
        const text = readFileSync(join(directoryOf(id), 'resources.json'), 'utf8')
        return (JSON.parse(text) as { cgroup: { directories: string[] } }).cgroup.directories
      }),
    )

  it('of this process are not even looked at, those of one that went without a word are removed', async () => {
    const hearth = new Hearth({ home, spareKeepers: 0 })
    onTestFinished(() => hearth.dispose())
    const sandbox = await hearth.create(SPEC)
    const held = await groups(hearth)
    const left = held.map((path) => join(path, '..', `${cgroupMark(home)}0123456789ab`))
    const elsewhere = held.map((path) => join(path, '..', '00000000000000000000'))
    for (const path of [...left, ...elsewhere]) await mkdir(path)
    await hearth.sweep({ graceMs: 0 })
    expect(left.filter((path) => existsSync(path))).toEqual([])
    // Another home may be about to put a sandbox into it.
    expect(elsewhere.filter((path) => !existsSync(path))).toEqual([])
    for (const path of elsewhere) await rmdir(path)
    expect(held.filter((path) => !existsSync(path))).toEqual([])
    await sandbox.kill()
    expect(held.filter((path) => existsSync(path))).toEqual([])
  })
})
