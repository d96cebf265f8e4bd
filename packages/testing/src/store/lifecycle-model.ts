import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SANDBOX_STATES, type SandboxState } from '@hearth/contract'
import type { SandboxRecord, Store } from '@hearth/server/state'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

/** What a sandbox may become, as the model of this test has it. */
const STEPS: Readonly<Record<SandboxState, string>> = {
  creating: 'running failed deleting',
  running: 'pausing stopping stopped failed deleting',
  pausing: 'paused running stopped failed deleting',
  paused: 'resuming stopping stopped failed deleting',
  resuming: 'running paused stopped failed deleting',
  stopping: 'stopped failed deleting',
  stopped: 'resuming deleting',
  failed: 'deleting',
  deleting: 'deleted',
  deleted: '',
}

interface Step {
  /** Which of the sandboxes, and which of the versions of it that were ever read: the last ones are the likely ones. */
  readonly sandbox: number
  readonly age: number
  readonly to: SandboxState
}

const step: fc.Arbitrary<Step> = fc.record({
  sandbox: fc.nat(2),
  age: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(4) }),
  to: fc.constantFrom(...SANDBOX_STATES),
})

export function describeLifecycleModel(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('behaves as the model does under random transitions, also from versions read long ago', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const histories = [[await sandbox(owner)], [await sandbox(owner)], [await sandbox(owner)]]
        for (const { sandbox: which, age, to } of steps) {
          const history = histories[which] ?? []
          const from = history.at(-1 - Math.min(age, history.length - 1))
          const present = history.at(-1)
          if (from === undefined || present === undefined) throw new Error('a history is never empty')
          const { outcome, record } = await attempt(store, from, to)
          expect(outcome).toBe(expected(present, from, to))
          if (record !== null) history.push(record)
          await expectPresent(store, history.at(-1))
        }
      }),
      { numRuns: 25 },
    )
  })
}

type Outcome = 'done' | 'invalid_state' | 'conflict' | 'sandbox_not_found'

function expected(present: SandboxRecord, from: SandboxRecord, to: SandboxState): Outcome {
  if (!STEPS[from.state].split(' ').includes(to)) return 'invalid_state'
  if (present.state === 'deleted') return 'sandbox_not_found'
  return present.version === from.version ? 'done' : 'conflict'
}

async function attempt(
  store: Store,
  from: SandboxRecord,
  to: SandboxState,
): Promise<{ outcome: string; record: SandboxRecord | null }> {
  return await store.sandboxes.transition(from, to).then(
    (record) => ({ outcome: 'done', record }),
    (error: { code?: string }) => ({ outcome: String(error.code), record: null }),
  )
}

async function expectPresent(store: Store, present: SandboxRecord | undefined): Promise<void> {
  if (present === undefined) return
  const found = await store.sandboxes.find(present.id)
  expect(found).toEqual(present.state === 'deleted' ? null : present)
}
