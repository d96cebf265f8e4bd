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

  test('a second reader ends the first, and input finds its way', async () => {
    const process = await guest.machine.spawn(spec(['cat'], { stdin: 'pipe' }))
    const reading = collect(process)
    const again = await guest.machine.attach(process.id, 0)
    await expect(reading).rejects.toMatchObject({ code: 'aborted' })
    await again.write('through')
    await again.closeStdin()
    expect((await collect(again)).stdout).toBe('through')
    expect((await again.wait()).exitCode).toBe(0)
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
