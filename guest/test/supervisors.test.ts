import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { useGuest } from './guest-fixture.ts'
import { GuestProcess, present, SPAWN } from './guest-process.ts'

const fixture = useGuest()
const shell = (script: string) => ['sh', '-c', script]
const descriptors = () => readdirSync(`/proc/${fixture.guest.child.pid}/fd`).length

/** A supervisor shares the memory and the descriptors of the guest: what befalls it must not befall the guest. */
describe('supervisors', () => {
  it('are not ended by signals of faults, which would take the guest along', async () => {
    const result = await fixture.guest.exec(
      shell('for s in SEGV BUS ILL FPE ABRT TERM; do kill -$s $PPID; done; echo on'),
    )
    expect(result).toMatchObject({ stdout: 'on\n', exited: { code: 0 } })
    expect((await fixture.guest.exec(['echo', 'still'])).stdout).toBe('still\n')
  })

  it('may be killed while others start', async () => {
    const { guest } = fixture
    await guest.exec(['true'])
    const before = descriptors()
    const runs = Array.from({ length: 60 }, (_, index) =>
      guest.exec(shell(index % 3 === 0 ? 'kill -KILL $PPID; sleep 100' : `echo ${index}`)),
    )
    const results = await Promise.all(runs)
    for (const [index, result] of results.entries()) {
      if (index % 3 === 0) expect(result.exited?.signal ?? result.failed?.errno).toBeGreaterThan(0)
      else expect(result.stdout).toBe(`${index}\n`)
    }
    await expect.poll(descriptors).toBe(before)
  })

  it('leave nothing open, also after a failed start and a killed tree', async () => {
    const { guest } = fixture
    await guest.exec(['true'])
    const before = descriptors()
    for (let round = 0; round < 5; round++) {
      expect((await guest.exec(['/no/such/program'])).failed?.errno).toBe(2)
      expect((await guest.exec(['true'], { cwd: '/no/such/directory' })).failed?.what).toContain('/no/such/directory')
      await guest.exec(shell('sleep 100 & sleep 100'), { timeoutMilliseconds: 20n })
    }
    await expect.poll(descriptors).toBe(before)
  })

  it('do not keep the link open when the guest is killed', async () => {
    const guest = await GuestProcess.start()
    await guest.request('Spawn', { ...SPAWN, argv: ['sleep', '2'] }).expect('Spawned')
    const closed = once(present(guest.child.stdout), 'close')
    guest.child.kill('SIGKILL')
    expect(await Promise.race([closed.then(() => 'closed'), delay(1500, 'open')])).toBe('closed')
  })

  it('run a script without a line for its interpreter by the shell', async () => {
    const path = join(fixture.directory, 'script')
    await writeFile(path, 'echo "$0" "$@"\n', { mode: 0o755 })
    expect((await fixture.guest.exec([path, 'a', 'b'])).stdout).toBe(`${path} a b\n`)
    const environment = [`PATH=/nowhere:${fixture.directory}:/usr/bin:/bin`]
    expect((await fixture.guest.exec(['script', 'c'], { environment })).stdout).toBe(`${path} c\n`)
  })

  it('report output at once, and the start of a silent command soon', async () => {
    const { guest } = fixture
    const loud = guest.request('Spawn', { ...SPAWN, argv: shell('echo here; sleep 1') })
    await loud.expect('Spawned', 500)
    expect(Buffer.from((await loud.expect('Output', 500)).bytes).toString()).toBe('here\n')
    await guest.request('Spawn', { ...SPAWN, argv: ['sleep', '1'] }).expect('Spawned', 500)
  })
})
