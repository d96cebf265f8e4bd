import type { CreateFrom, Process, Sandbox, SandboxId, SandboxInfo } from '@hearth/contract'
import { expect } from 'vitest'
import type { DriverCapabilities } from './support/capabilities.ts'
import { eventually, expectRefusal, output } from './support/expectations.ts'
import { describeSuite, type SuiteSkip } from './support/suite.ts'

export interface HibernationSuiteOptions {
  readonly name: string
  /** A new sandbox of the rung under test, with `python3` where it has processes; the suite kills it. */
  readonly create: (spec?: CreateFrom) => Promise<Sandbox>
  readonly capabilities: DriverCapabilities & { readonly memory: boolean }
  readonly wake: (id: SandboxId) => Promise<Sandbox>
  /** The sandboxes that there are, whoever made them. */
  readonly list: () => Promise<readonly SandboxInfo[]>
  readonly skip?: readonly SuiteSkip[]
}

/** Counts in memory, and writes each number down. */
const COUNTER = `
import time
log = open('/tmp/log', 'a', buffering=1)
counter = 0
while True:
    counter += 1
    log.write(f'{counter}\\n')
    time.sleep(0.1)
`

/** Says each number as soon as it has counted it, and does little else. */
const TALKER = `
import itertools
for number in itertools.count(1):
    print(number, flush=True)
`

async function numbers(sandbox: Sandbox): Promise<number[]> {
  const text = await sandbox.files.readText('/tmp/log').catch(() => '')
  return text.split('\n').slice(0, -1).map(Number)
}

/** What a process says from here on, until it ends or its sandbox does. */
function heard(process: Process): {
  readonly chunks: Uint8Array[]
  readonly bytes: number
  readonly ended: Promise<void>
} {
  const chunks: Uint8Array[] = []
  const listen = async (): Promise<void> => {
    for await (const { data } of process.output) chunks.push(Uint8Array.from(data))
  }
  // That its sandbox sleeps is an end too.
  const ended = listen().catch(() => undefined)
  return {
    chunks,
    ended,
    get bytes() {
      return chunks.reduce((sum, { length }) => sum + length, 0)
    },
  }
}

/** What every rung with snapshots must do: a sandbox sleeps as files, and where memory is captured with what runs in it. */
export function describeHibernation(options: HibernationSuiteOptions): void {
  const { name, create, capabilities, wake, list, skip = [] } = options
  const { processes, memory } = capabilities
  describeSuite(
    { name, create, capabilities, skip },
    {
      hibernation: (suite) => {
        suite.own('a sandbox sleeps and wakes as itself, again and again', { timeoutMs: 90_000 }, async (sandbox) => {
          const { id } = sandbox
          await output(sandbox, 'echo kept >/tmp/kept; hostname >/tmp/name')
          if (processes) await sandbox.spawn(['python3', '-c', COUNTER])
          if (processes) await eventually('it counts', async () => (await numbers(sandbox)).length > 3, 30_000)
          const outcome = await sandbox.hibernate()
          expect(outcome.memory).toBe(memory)
          expect(outcome.reason === null).toBe(memory)
          expect(sandbox.info.state).toBe('hibernated')
          expect((await list()).find((info) => info.id === id)).toMatchObject({ state: 'hibernated' })

          await using woken = await wake(id)
          expect(woken.info).toMatchObject({ id, state: 'running', parent: null, origin: null })
          expect(woken.info.expiresAt).toEqual(sandbox.info.expiresAt)
          expect(await output(woken, 'cat /tmp/kept; test "$(hostname)" = "$(cat /tmp/name)"')).toBe('kept')
          const seconds = Number(await output(woken, 'date +%s'))
          expect(Math.abs(seconds - Date.now() / 1000)).toBeLessThan(5)
          if (memory) {
            const before = (await numbers(woken)).length
            await eventually('it goes on', async () => (await numbers(woken)).length > before + 3, 30_000)
          } else expect((await woken.processes()).filter((process) => process.exit === null)).toEqual([])
          const counted = await numbers(woken)
          expect(counted).toEqual(counted.map((_, index) => index + 1))
          const changes = (await woken.diff({ paths: ['/tmp'] })).map(({ path, change }) => `${path} ${change}`)
          expect(changes).toContain('/tmp/kept added')

          await woken.hibernate({ memory: 'none' })
          await using again = await wake(id)
          expect(await output(again, 'cat /tmp/kept')).toBe('kept')
        })

        if (memory) {
          suite.own(
            'what was seen before it slept has happened when it wakes',
            { timeoutMs: 90_000 },
            async (sandbox) => {
              const talker = await sandbox.spawn(['python3', '-c', TALKER])
              const seen = heard(talker)
              await eventually('it talks', async () => seen.bytes > 2000, 30_000)
              await sandbox.hibernate({ memory: 'required' })
              await seen.ended
              await using woken = await wake(sandbox.id)
              await using later = await woken.attach(talker.id, { offset: seen.bytes })
              const more = heard(later)
              await eventually('it goes on', async () => more.bytes > 2000, 30_000)
              await later.kill()
              await more.ended
              const said = Buffer.concat([...seen.chunks, ...more.chunks])
                .toString()
                .split('\n')
                .slice(0, -1)
              expect(said.findIndex((line, index) => line !== String(index + 1))).toBe(-1)
            },
          )
        }

        suite.own('what cannot be captured goes on as it was', {}, async (sandbox) => {
          await expectRefusal(sandbox.hibernate({ memory: 'all' as 'auto' }), 'invalid_request')
          if (!memory) await expectRefusal(sandbox.hibernate({ memory: 'required' }), 'memory_unsupported')
          expect(await output(sandbox, 'echo alive')).toBe('alive')
          expect(sandbox.info.state).toBe('running')
          await sandbox.hibernate()
          await sandbox.kill()
          expect((await list()).filter((info) => info.id === sandbox.id)).toEqual([])
          await expectRefusal(wake(sandbox.id), 'sandbox_not_found', 'sandbox_ended')
        })
      },
    },
  )
}
