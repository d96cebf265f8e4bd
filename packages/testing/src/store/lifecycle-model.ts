import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SANDBOX_STATES, type SandboxState } from '@hearth/contract'
import type { SandboxRecord, Store } from '@hearth/server/state'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

/** What a sandbox may become, as the model of this test has it. */
const STEPS: Readonly<Record<SandboxState, string>> = {
  creating: 'running failed deleting',
  running: 'pausing hibernating stopping stopped failed deleting',
  pausing: 'paused running stopped failed deleting',
  paused: 'resuming hibernating stopping stopped failed deleting',
  resuming: 'running paused stopped failed deleting',
  hibernating: 'hibernated running paused stopped failed deleting',
  hibernated: 'waking stopping stopped deleting',
  waking: 'running hibernated stopped failed deleting',
  stopping: 'stopped failed deleting',
  stopped: 'deleting',
  failed: 'deleting',
  deleting: 'deleted',
  deleted: '',
}

interface Step {
  readonly sandbox: number
  /** Which of the versions that were ever read: 0 is the present one, which is the likely one. */
  readonly age: number
  /** A change beside the state, a transition that the table has, or any state at all. */
  readonly kind: 'update' | 'legal' | 'any'
  readonly choice: number
}

const step: fc.Arbitrary<Step> = fc.record({
  sandbox: fc.nat(2),
  age: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) }),
  kind: fc.constantFrom('update', 'legal', 'legal', 'legal', 'any'),
  choice: fc.nat(SANDBOX_STATES.length - 1),
})

export function describeLifecycleModel(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('behaves as the model does under random changes, also from versions read long ago', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const histories = [[await sandbox(owner)], [await sandbox(owner)], [await sandbox(owner)]]
        for (const { sandbox: which, age, kind, choice } of steps) {
          const history = histories[which] ?? []
          const from = history.at(-1 - Math.min(age, history.length - 1))
          const present = history.at(-1)
          if (from === undefined || present === undefined) throw new Error('a history is never empty')
          const to = target(from, kind, choice)
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

/** Null for a change that leaves the state as it is. */
function target(from: SandboxRecord, kind: Step['kind'], choice: number): SandboxState | null {
  if (kind === 'update') return null
  const steps = STEPS[from.state].split(' ')
  const name = kind === 'legal' ? steps[choice % steps.length] : SANDBOX_STATES[choice]
  return SANDBOX_STATES.find((state) => state === name) ?? 'running'
}

type Outcome = 'done' | 'invalid_state' | 'conflict' | 'sandbox_not_found'

function expected(present: SandboxRecord, from: SandboxRecord, to: SandboxState | null): Outcome {
  if (to !== null && !STEPS[from.state].split(' ').includes(to)) return 'invalid_state'
  if (present.state === 'deleted') return 'sandbox_not_found'
  return present.version === from.version ? 'done' : 'conflict'
}

async function attempt(
  store: Store,
  from: SandboxRecord,
  to: SandboxState | null,
): Promise<{ outcome: string; record: SandboxRecord | null }> {
  const change =
    to === null ? store.sandboxes.update(from, { expiresAt: from.version }) : store.sandboxes.transition(from, to)
  return await change.then(
    (record) => ({ outcome: 'done', record }),
    (error: { code?: string }) => ({ outcome: String(error.code), record: null }),
  )
}

async function expectPresent(store: Store, present: SandboxRecord | undefined): Promise<void> {
  if (present === undefined) return
  const found = await store.sandboxes.find(present.id)
  expect(found).toEqual(present.state === 'deleted' ? null : present)
}
