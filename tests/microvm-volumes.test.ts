import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Hearth } from '@hearth/engine'
import { afterAll, describe, expect, test } from 'vitest'
import { ladder } from './support/ladder.ts'

const hearth = new Hearth({ spareKeepers: 0 })
const step = (await ladder(hearth)).find(({ rung }) => rung === 'microvm')
const able = step?.probe.available === true && step.probe.capabilities.volumes
const PLACE = '/workspace'

interface Found {
  readonly pid: number
  readonly words: readonly string[]
}

/** All that runs below the keeper of a sandbox. */
function processesOf(directory: string): Found[] {
  const keeper = Number(readFileSync(join(directory, 'keeper.pid'), 'utf8').split(' ')[0])
  const below = (pid: number): number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  const found: Found[] = []
  for (const pending = below(keeper); pending.length > 0;) {
    const pid = pending.pop() ?? 0
    found.push({ pid, words: readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0') })
    pending.push(...below(pid))
  }
  return found
}

function find(directory: string, is: (words: readonly string[]) => boolean): number {
  const found = processesOf(directory).find(({ words }) => is(words))
  if (found === undefined) throw new Error('there is no such process')
  return found.pid
}

test.skipIf(able)('volumes of a microVM', (context) => {
  context.skip(
    step?.probe.available === true ? 'only root can give files to others' : (step?.probe.reason ?? 'no driver'),
  )
})

describe.runIf(able)('volumes of a microVM', { timeout: 120_000 }, () => {
  test('are served by a process that can reach nothing else, and QEMU cannot reach them', async () => {
    const { id: volume } = await hearth.volumes.create()
    {
      await using sandbox = await hearth.create({
        rung: 'microvm',
        template: 'debian',
        volumes: [{ volume, path: PLACE }],
      })
      const directory = join(hearth.paths.sandboxes, sandbox.id)
      const server = find(directory, (words) => words[1] === 'volumes')
      const qemu = find(directory, (words) => /qemu-system/.test(words[0] ?? ''))
      // Empty places, but for the one of its volume.
      for (const name of readdirSync(`/proc/${server}/root`)) expect(name).toMatch(/^\d$/)
      expect(readdirSync(`/proc/${qemu}/root`)).not.toContain('run')
      const status = readFileSync(`/proc/${server}/status`, 'utf8')
      // CHOWN, DAC_OVERRIDE, FOWNER and FSETID, in a user namespace of its own; filtered calls; no new privileges.
      for (const line of ['CapPrm:\t000000000000001b', 'CapEff:\t000000000000001b', 'NoNewPrivs:\t1', 'Seccomp:\t2'])
        expect(status).toContain(line)
      expect(readFileSync(`/proc/${qemu}/status`, 'utf8')).toContain('CapEff:\t0000000000000000')
    }
    await hearth.volumes.remove(volume)
  })

  test('fail when that process dies, and their machine goes on', async () => {
    const { id: volume } = await hearth.volumes.create()
    {
      await using sandbox = await hearth.create({
        rung: 'microvm',
        template: 'debian',
        volumes: [{ volume, path: PLACE }],
      })
      expect((await sandbox.exec(`echo kept > ${PLACE}/file && cat ${PLACE}/file`)).stdout).toBe('kept\n')
      process.kill(
        find(join(hearth.paths.sandboxes, sandbox.id), (words) => words[1] === 'volumes'),
        'SIGKILL',
      )
      const failed = await sandbox.exec(`ls ${PLACE}/other; echo more > ${PLACE}/file`)
      expect(failed.stderr).toContain('Input/output error')
      expect((await sandbox.exec('echo on > /tmp/on; cat /tmp/on')).stdout).toBe('on\n')
    }
    await using next = await hearth.create({ rung: 'process', volumes: [{ volume, path: PLACE }] })
    expect((await next.exec(`cat ${PLACE}/file`)).stdout).toBe('kept\n')
    await next.kill()
    await hearth.volumes.remove(volume)
  })

  test('go on when root has killed all that he can', async () => {
    const { id: volume } = await hearth.volumes.create()
    for (const round of [1, 2, 3]) {
      await using sandbox = await hearth.create({
        rung: 'microvm',
        template: 'debian',
        user: 'root',
        volumes: [{ volume, path: PLACE }],
      })
      const dead = 'kill -9 -1 2>/dev/null; true'
      await sandbox.exec(`echo ${round} >> ${PLACE}/rounds; sync`)
      await sandbox.exec(dead).catch(() => undefined)
      expect((await sandbox.exec(`cat ${PLACE}/rounds | wc -l`)).stdout).toBe(`${round}\n`)
    }
    await hearth.volumes.remove(volume)
  })
})

afterAll(async () => await hearth.dispose(), 60_000)
