import type { Sandbox } from '@hearth/contract'
import { expect } from 'vitest'
import { Copies } from '../fork/fork-suite.ts'
import { eventually, expectRefusal, output } from '../support/expectations.ts'
import { PLACE, type VolumeSuite } from './volume-suite.ts'

/** Has one file open all the time. */
const LOG = `exec 3>>${PLACE}/log; i=0; while :; do i=$((i+1)); echo $i >&3; sleep 0.05; done`
const DELETED = `echo x > ${PLACE}/gone; exec 3<>${PLACE}/gone; rm ${PLACE}/gone; echo > /tmp/ready; sleep 1000`

async function lines(sandbox: Sandbox): Promise<number> {
  return Number(await output(sandbox, `wc -l < ${PLACE}/log`))
}

async function grows(sandbox: Sandbox): Promise<void> {
  const before = await lines(sandbox)
  await eventually('it writes', async () => (await lines(sandbox)) > before + 3, 30_000)
}

async function numbers(sandbox: Sandbox): Promise<number[]> {
  return (await output(sandbox, `cat ${PLACE}/log`)).split('\n').map(Number)
}

async function expectNothingLost(sandbox: Sandbox): Promise<void> {
  const found = [...new Set(await numbers(sandbox))]
  expect(found).toEqual(found.map((_, index) => index + 1))
}

/** Processes that have files of volumes open, and are captured with them. */
export function describeRunning(suite: VolumeSuite): void {
  const about = { needs: ['processes'], timeoutMs: 120_000 } as const

  suite.test('processes go on with the files that they have open', about, async (volume) => {
    await using parent = await suite.attach(volume)
    await parent.spawn(LOG)
    await eventually(
      'it begins',
      async () => (await parent.files.exists(`${PLACE}/log`)) && (await lines(parent)) > 3,
      30_000,
    )
    await using copies = new Copies((await parent.fork(2, { memory: 'required' })).children)
    for (const sandbox of [parent, ...copies.all]) await grows(sandbox)
    for (const sandbox of [parent, ...copies.all]) await expectNothingLost(sandbox)
    await parent.hibernate({ memory: 'required' })
    await using woken = await suite.options.wake(parent.id)
    await grows(woken)
    await expectNothingLost(woken)
    expect(await output(copies.first, `echo own > ${PLACE}/own; ls ${PLACE}`)).toBe('log\nown')
    expect(await output(woken, `ls ${PLACE}`)).toBe('log')
  })

  suite.test('processes that go on with another volume see what is in that', about, async (volume) => {
    const other = (await suite.options.volumes.create()).id
    {
      await using filling = await suite.attach(other)
      await output(filling, `echo other > ${PLACE}/same; echo there > ${PLACE}/absent; mkdir ${PLACE}/d`)
    }
    await using parent = await suite.attach(volume)
    await output(parent, `echo mine > ${PLACE}/same; mkdir ${PLACE}/d; cat ${PLACE}/same; ls -l ${PLACE}`)
    expect((await parent.exec(`cat ${PLACE}/absent`)).exitCode).not.toBe(0)
    await parent.spawn(`cd ${PLACE}/d; while :; do cat ../same > /tmp/seen; sleep 0.1; done`)
    await eventually('it runs', async () => (await parent.exec('cat /tmp/seen')).stdout === 'mine\n', 30_000)
    const taken = await parent.snapshot({ memory: 'required' })
    try {
      await using next = await suite.options.create({
        from: taken.id,
        memory: 'required',
        volumes: [{ volume: other, path: PLACE }],
      })
      expect(await output(next, `cat ${PLACE}/same ${PLACE}/absent; ls ${PLACE}`)).toBe('other\nthere\nabsent\nd\nsame')
      await eventually('it sees it', async () => (await next.exec('cat /tmp/seen')).stdout === 'other\n', 30_000)
      expect(await output(parent, `cat ${PLACE}/same; ls ${PLACE}`)).toBe('mine\nd\nsame')
    } finally {
      await suite.options.removeSnapshot(taken.id)
    }
  })

  suite.test('nothing is written twice for a capture', about, async (volume) => {
    await using parent = await suite.attach(volume)
    await parent.spawn(LOG)
    await eventually(
      'it begins',
      async () => (await parent.files.exists(`${PLACE}/log`)) && (await lines(parent)) > 3,
      30_000,
    )
    for (const memory of ['required', 'none', 'required'] as const) {
      await using copies = new Copies((await parent.fork(1, { memory })).children)
      if (memory === 'required') await grows(copies.first)
      for (const sandbox of [parent, copies.first]) {
        const found = await numbers(sandbox)
        expect(found).toEqual(found.map((_, index) => index + 1))
      }
    }
  })

  suite.test('a file that was deleted while a process has it open is in no copy', about, async (volume) => {
    await using parent = await suite.attach(volume)
    const holder = await parent.spawn(DELETED)
    await eventually('it is deleted', () => parent.files.exists('/tmp/ready'), 30_000)
    const refusal = await expectRefusal(parent.fork(1, { memory: 'required' }), 'memory_unsupported')
    expect(refusal.message).toContain('deleted')
    const without = await parent.fork(1)
    await using copies = new Copies(without.children)
    expect(without).toMatchObject({ memory: false, reason: expect.stringContaining('deleted') })
    expect(await output(copies.first, `ls ${PLACE}; echo on`)).toBe('on')
    await holder.kill()
    const again = await parent.fork(1)
    await using others = new Copies(again.children)
    expect(again).toMatchObject({ memory: true })
    expect(others.all.length).toBe(1)
  })
}
