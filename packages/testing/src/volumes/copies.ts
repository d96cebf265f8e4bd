import { BOUNDS, newVolumeId, type Sandbox, type VolumeId } from '@hearth/contract'
import { expect } from 'vitest'
import { Copies } from '../fork/fork-suite.ts'
import { eventually, expectRefusal, output } from '../support/expectations.ts'
import { PLACE, type VolumeSuite } from './volume-suite.ts'

/** Writes the same number to the volume, to the root and to the volume again, over and over. */
const COUNT = `i=0; while true; do i=$((i+1)); echo $i >> ${PLACE}/first; echo $i >> /tmp/middle; echo $i >> ${PLACE}/last; done`

function volumeOf(sandbox: Sandbox): VolumeId {
  return sandbox.info.volumes[0]?.volume ?? newVolumeId()
}

async function changesOf(sandbox: Sandbox): Promise<string[]> {
  return (await sandbox.diff()).map(({ path, change }) => `${path} ${change}`).filter((line) => line.startsWith(PLACE))
}

export function describeCopies(suite: VolumeSuite): void {
  describeForks(suite)
  describeInstant(suite)
  describeMerges(suite)
}

function describeForks(suite: VolumeSuite): void {
  const { volumes, create } = suite.options

  suite.test('each child has a copy of its own, which stays when it is gone', {}, async (volume) => {
    const shared = (await volumes.create()).id
    await using parent = await create({
      volumes: [
        { volume, path: PLACE },
        { volume: shared, path: '/mnt/shared', readOnly: true },
      ],
    })
    await output(parent, `mkdir ${PLACE}/d; echo base > ${PLACE}/d/file`)
    await using copies = new Copies((await parent.fork(3)).children)
    const own = copies.all.map(volumeOf)
    expect(new Set([volume, ...own]).size).toBe(4)
    for (const [index, child] of copies.all.entries()) {
      expect(child.info.volumes).toEqual([
        { volume: own[index], path: PLACE, readOnly: false },
        { volume: shared, path: '/mnt/shared', readOnly: true },
      ])
      expect(await volumes.info(volumeOf(child))).toMatchObject({ parent: volume, attachedTo: child.id })
      await output(child, `echo ${index} >> ${PLACE}/d/file; echo ${index} > ${PLACE}/own-${index}`)
    }
    for (const [index, child] of copies.all.entries())
      expect(await output(child, `cat ${PLACE}/d/file; ls ${PLACE}`)).toBe(`base\n${index}\nd\nown-${index}`)
    expect(await output(parent, `cat ${PLACE}/d/file; ls ${PLACE}`)).toBe('base\nd')
    await copies.first.kill()
    await parent.kill()
    await using next = await suite.attach(own[0] ?? volume)
    expect(await output(next, `cat ${PLACE}/own-0`)).toBe('0')
  })

  suite.test('a fork that fails leaves no copies', { needs: ['processes'], timeoutMs: 60_000 }, async (volume) => {
    await using parent = await suite.attach(volume)
    const before = (await volumes.list()).length
    const each = [{}, {}, { env: { LARGE: 'x'.repeat(2 * BOUNDS.frameBytes) } }]
    await expectRefusal(parent.fork(3, { each }), 'invalid_request')
    expect((await volumes.list()).length).toBe(before)
    expect(await output(parent, `echo on > ${PLACE}/on; cat ${PLACE}/on`)).toBe('on')
  })

  suite.test('a snapshot holds none of it, and another can take its place', {}, async (volume) => {
    await using parent = await suite.attach(volume)
    await output(parent, `echo mine > ${PLACE}/file; echo root > /tmp/file`)
    const taken = await parent.snapshot()
    const made: Sandbox[] = []
    try {
      const bare = await create({ from: taken.id })
      made.push(bare)
      expect(bare.info.volumes).toEqual([])
      expect(await bare.files.exists(`${PLACE}/file`)).toBe(false)
      expect(await output(bare, 'cat /tmp/file')).toBe('root')
      const other = (await volumes.create()).id
      const with_ = await create({ from: taken.id, volumes: [{ volume: other, path: PLACE }], memory: 'none' })
      made.push(with_)
      expect(await output(with_, `ls ${PLACE}; echo x > ${PLACE}/other; cat /tmp/file`)).toBe('root')
    } finally {
      for (const sandbox of made) await sandbox.kill()
      await suite.options.removeSnapshot(taken.id)
    }
  })
}

function describeInstant(suite: VolumeSuite): void {
  const { processes } = suite.options.capabilities

  suite.test('root and volumes are of one instant', { needs: ['processes'], timeoutMs: 60_000 }, async (volume) => {
    await using parent = await suite.attach(volume)
    await parent.spawn(COUNT)
    const lines = async (sandbox: Sandbox): Promise<number[]> => {
      const counted = await output(sandbox, `wc -l < ${PLACE}/first; wc -l < /tmp/middle; wc -l < ${PLACE}/last`)
      return counted.split('\n').map(Number)
    }
    await eventually('it counts', async () => ((await lines(parent).catch(() => [0]))[0] ?? 0) > 20, 30_000)
    for (const memory of ['auto', 'none'] as const) {
      await using copies = new Copies((await parent.fork(1, { memory })).children)
      const child = copies.first
      // Those that go on are stopped before they are counted.
      for (const process of await child.processes())
        if (process.exit === null) await (await child.attach(process.id)).kill()
      const [first = 0, middle = -1, last = -1] = await lines(child)
      expect(first).toBeGreaterThan(20)
      expect([middle, last, middle - last]).toEqual([
        expect.toBeOneOf([first, first - 1]),
        expect.toBeOneOf([first, first - 1]),
        expect.toBeOneOf([0, 1]),
      ])
    }
    expect(processes).toBe(true)
  })

  suite.test('it sleeps and wakes with its volume, which nobody else gets', { timeoutMs: 90_000 }, async (volume) => {
    const { volumes, wake } = suite.options
    const sandbox = await suite.attach(volume)
    await output(sandbox, `echo before > ${PLACE}/file`)
    await sandbox.hibernate()
    expect(await volumes.info(volume)).toMatchObject({ attachedTo: sandbox.id })
    await expectRefusal(suite.attach(volume), 'volume_in_use')
    await expectRefusal(volumes.remove(volume), 'volume_in_use')
    {
      await using reader = await suite.attach(volume, { readOnly: true })
      expect(await output(reader, `cat ${PLACE}/file`)).toBe('before')
    }
    await using woken = await wake(sandbox.id)
    expect(woken.info.volumes).toEqual([{ volume, path: PLACE, readOnly: false }])
    expect(await output(woken, `cat ${PLACE}/file; echo after >> ${PLACE}/file; cat ${PLACE}/file`)).toBe(
      'before\nbefore\nafter',
    )
    await woken.hibernate({ memory: 'none' })
    await woken.kill()
    expect(await volumes.info(volume)).toMatchObject({ attachedTo: null })
    await using next = await suite.attach(volume)
    expect(await output(next, `cat ${PLACE}/file`)).toBe('before\nafter')
  })
}

function describeMerges(suite: VolumeSuite): void {
  suite.test('what a fork changed in it is in its difference, and is merged', { timeoutMs: 60_000 }, async (volume) => {
    await using parent = await suite.attach(volume)
    await output(parent, `cd ${PLACE} && mkdir d && echo a > d/a && echo b > b && echo c > c && echo k > keep`)
    await using copies = new Copies((await parent.fork(2)).children)
    const [one, other] = copies.all
    if (one === undefined || other === undefined) throw new Error('there are two')
    expect(await changesOf(one)).toEqual([])
    await output(
      one,
      `cd ${PLACE} && echo more >> d/a && rm b && mkdir -p new/deep && echo n > new/deep/n && ln -s n l`,
    )
    await output(one, 'echo root > /tmp/in-root')
    const changed = ['/b removed', '/d/a changed', '/l added', '/new added', '/new/deep added', '/new/deep/n added']
    expect(await changesOf(one)).toEqual(changed.map((line) => `${PLACE}${line}`))
    expect((await one.diff({ paths: [`${PLACE}/d`], contentBytes: 100 })).map(({ path }) => path)).toEqual([
      `${PLACE}/d/a`,
    ])
    const [withContent] = await one.diff({ paths: [`${PLACE}/d/a`], contentBytes: 100 })
    expect(Buffer.from(withContent?.content ?? []).toString()).toBe('a\nmore\n')

    const merged = await parent.merge(one, { paths: [PLACE, '/tmp/in-root'] })
    expect(merged.conflicts).toEqual([])
    expect(merged.applied.length).toBe(changed.length + 1)
    expect(await output(parent, `cd ${PLACE}; cat d/a new/deep/n keep /tmp/in-root; readlink l; ls`)).toBe(
      'a\nmore\nn\nk\nroot\nn\nc\nd\nkeep\nl\nnew',
    )

    await output(other, `echo otherwise > ${PLACE}/d/a; echo x > ${PLACE}/x`)
    const refused = await parent.merge(other)
    expect(refused.applied).toEqual([])
    expect(refused.conflicts.map(({ path }) => path)).toEqual([`${PLACE}/d/a`])
    expect(await output(parent, `cat ${PLACE}/d/a; ls ${PLACE}`)).not.toContain('x')
    expect((await parent.merge(other, { paths: [`${PLACE}/x`] })).conflicts).toEqual([])
    expect(await output(parent, `cat ${PLACE}/x`)).toBe('x')
  })
}
