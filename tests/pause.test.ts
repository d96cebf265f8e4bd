import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hearth } from '@hearth/engine'
import { expectRefusal } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()
const steps = await ladder(hearth)

/** Everything below a process, itself not included. */
function descendants(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return children.flatMap((child) => [child, ...descendants(child)])
}

/** Processor time that the host has spent on a sandbox, in clock ticks. */
function ticksOf(id: string): number {
  const keeper = Number.parseInt(readFileSync(join(hearth.paths.sandboxes, id, 'keeper.pid'), 'utf8'), 10)
  const times = descendants(keeper).map((pid) => {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return times.reduce((sum, time) => sum + time, 0)
}

for (const step of steps) {
  const { probe } = step
  const can = probe.available && probe.capabilities.pause
  describe.skipIf(!can)(`a pause on ${step.rung}`, () => {
    const spec = { rung: step.rung, template: templateFor(probe) }

    test('takes no processor time, refuses calls, and everything goes on afterwards', async () => {
      await using sandbox = await hearth.create(spec)
      const loop = await sandbox.spawn('while :; do :; done')
      const cat = await sandbox.spawn('cat', { stdin: 'pipe' })
      await sandbox.pause()
      await sandbox.pause()
      const before = ticksOf(sandbox.id)
      await expectRefusal(sandbox.exec('true'), 'sandbox_paused')
      await expectRefusal(sandbox.files.read('/etc/passwd'), 'sandbox_paused')
      await expectRefusal(sandbox.stats(), 'sandbox_paused')
      const written = cat.write('said while it slept\n')
      await sleep(500)
      expect(ticksOf(sandbox.id) - before).toBe(0)
      await sandbox.resume()
      await sandbox.resume()
      await written
      await cat.closeStdin()
      expect(await cat.wait()).toMatchObject({ exitCode: 0 })
      await loop.kill()
      expect((await sandbox.exec('echo awake')).stdout).toBe('awake\n')
    })

    // gVisor's kernel starts its processes by tracing them: a stop that it meets there ended the whole sandbox, once in eighty times.
    test('meets a process that is just being started', async () => {
      for (let round = 0; round < 4; round++) {
        await using sandbox = await hearth.create(spec)
        const cat = await sandbox.spawn('echo begun; cat; echo ended', { stdin: 'pipe' })
        await sandbox.pause()
        await sandbox.resume()
        await cat.closeStdin()
        expect(await cat.wait()).toMatchObject({ exitCode: 0 })
      }
    })

    test('outlives its engine, which adopts it paused or wakes it', async () => {
      const made = await hearth.create(spec)
      await made.exec('echo kept >/tmp/kept')
      await made.pause()
      await made.release()
      const paused = await hearth.adopt(made.id, { paused: true })
      expect(paused.paused).toBe(true)
      await expectRefusal(paused.exec('true'), 'sandbox_paused')
      await paused.resume()
      expect((await paused.exec('cat /tmp/kept')).stdout).toBe('kept\n')
      await paused.pause()
      await paused.release()
      await using woken = await hearth.adopt(made.id)
      expect((await woken.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    })

    test('ends when it is killed, and at its deadline', async () => {
      const killed = await hearth.create(spec)
      await killed.pause()
      await killed.kill()
      await expectRefusal(killed.resume(), 'sandbox_ended')
      const expiring = await hearth.create(spec)
      await expiring.pause()
      await expiring.expireAt(new Date(Date.now() + 100))
      expect(await expiring.ended).toMatchObject({ reason: 'killed' })
    })
  })
}

afterAll(async () => await hearth.dispose(), 120_000)
