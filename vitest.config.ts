import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes minutes. It comes first, so that nothing waits for it alone at the end. */
const LONG = [
  'tests/conformance.test.ts',
  'tests/sdk-conformance.test.ts',
  'tests/fork.test.ts',
  'tests/security/security.test.ts',
  'tests/hostile-guest.test.ts',
  'packages/server/src/lifecycle/crashing.test.ts',
  'guest/test/fuzz.test.ts',
] as const

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = LONG.findIndex((name) => moduleId.endsWith(`/${name}`))
  return index === -1 ? LONG.length : index
}

/** Sandboxes are real here: the suites below `tests` start machines, so that few files run at a time and get long timeouts. */
export default defineConfig({
  test: {
    pool: 'forks',
    // Machines that are started ahead would take the processor from what is tested; who tests them turns it on.
    env: { HEARTH_POOL: 'off' },
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          maxWorkers: 2,
          include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'guest/**/*.test.ts', 'bench/**/*.test.ts'],
          testTimeout: 20_000,
          hookTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'sandboxes',
          // Much of what is tested waits: more at a time than the two processors that a small machine has.
          maxWorkers: 3,
          include: ['packages/*/test/**/*.test.ts', 'tests/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
