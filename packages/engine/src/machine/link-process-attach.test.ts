import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, spec } from './process-helpers.ts'
import { startGuest, type TestGuest } from './test-guest.ts'

let guest: TestGuest
beforeAll(async () => {
  guest = await startGuest()
}, 120_000)
afterAll(async () => {
  await guest.machine.kill()
})

describe('attach', () => {
  test('detached, it goes on; attached again, nothing is lost', async () => {
    const process = await guest.machine.spawn(spec('echo one; sleep 0.3; echo two'))
    const first = await process.output[Symbol.asyncIterator]().next()
    await process.detach()
    await expect(process.wait()).rejects.toMatchObject({ code: 'aborted' })
    const again = await guest.machine.attach(process.id, (first.value as { data: Uint8Array }).data.length)
    expect((await collect(again)).stdout).toBe('two\n')
    expect((await again.wait()).exitCode).toBe(0)
    const whole = await guest.machine.attach(process.id, 0)
    expect((await collect(whole)).stdout).toBe('one\ntwo\n')
    expect(await whole.wait()).toMatchObject({ exitCode: 0 })
  })

  test('says how much was dropped', async () => {
    const process = await guest.machine.spawn(spec('head -c 3000000 /dev/zero; printf end; sleep 0.2'))
    await process.detach()
    await sleep(500)
    const again = await guest.machine.attach(process.id, 0)
    let dropped = 0
    let bytes = 0
    for await (const chunk of again.output) {
      dropped += chunk.dropped
      bytes += chunk.data.length
    }
    expect(dropped).toBeGreaterThan(1_000_000)
    expect(dropped + bytes).toBe(3_000_003)
  })

  test('readers each get all of it, and the input of any finds its way', async () => {
    const process = await guest.machine.spawn(spec(['cat'], { stdin: 'pipe' }))
    const readers = [process, await guest.machine.attach(process.id, 0)]
    await process.write('thr')
    await process.output[Symbol.asyncIterator]().next()
    readers.push(await guest.machine.attach(process.id, 1))
    const reading = Promise.all(readers.map(collect))
    await readers[2]?.write('ough')
    await process.closeStdin()
    expect((await reading).map(({ stdout }) => stdout)).toEqual(['ough', 'through', 'hrough'])
    for (const reader of readers) expect((await reader.wait()).exitCode).toBe(0)
  })

  test('the slowest reader holds a process back, until it goes', async () => {
    const process = await guest.machine.spawn(spec('head -c 8000000 /dev/zero'))
    const slow = await guest.machine.attach(process.id, 0)
    const reading = collect(process)
    await expect(Promise.race([reading, sleep(300, 'waits')])).resolves.toBe('waits')
    await slow.detach()
    expect((await reading).stdout).toHaveLength(8_000_000)
  })

  test('not more than the guest allows', async () => {
    const process = await guest.machine.spawn(spec(['sleep', '60']))
    const readers = await Promise.all(Array.from({ length: 63 }, () => guest.machine.attach(process.id, 0)))
    await expect(guest.machine.attach(process.id, 0)).rejects.toMatchObject({ code: 'too_many' })
    await readers[0]?.detach()
    await (await guest.machine.attach(process.id, 0)).detach()
    await process.kill()
  })

  test('leaves nothing open, and loses no input that was written', async () => {
    const process = await guest.machine.spawn(spec('sleep 0.3; wc -c', { stdin: 'pipe' }))
    await process.detach()
    for (let turn = 0; turn <= BOUNDS.channels; turn++) {
      const writer = await guest.machine.attach(process.id, 0)
      // The first is more than a pipe holds, so that some of it is still on its way.
      await writer.write(turn === 0 ? Buffer.alloc(190_000) : 'x')
      await writer.detach()
    }
    const last = await guest.machine.attach(process.id, 0)
    await last.closeStdin()
    expect((await collect(last)).stdout).toBe(`${190_000 + BOUNDS.channels}\n`)
  })

  test('beyond the end, and to nothing', async () => {
    const process = await guest.machine.spawn(spec('printf abc; sleep 0.2; printf def'))
    await process.output[Symbol.asyncIterator]().next()
    const again = await guest.machine.attach(process.id, 1000)
    expect((await collect(again)).stdout).toBe('def')
    await expect(guest.machine.attach(999_999, 0)).rejects.toMatchObject({ code: 'process_not_found' })
  })
})
