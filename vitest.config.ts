import { defineConfig } from 'vitest/config'

/** Sandboxes are real here: the suites below `tests` start machines, so they run one file at a time and get long timeouts. */
export default defineConfig({
  test: {
    pool: 'forks',
    // Machines that are started ahead would take the processor from what is tested; who tests them turns it on.
    env: { HEARTH_POOL: 'off' },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.ts', 'guest/**/*.test.ts', 'bench/**/*.test.ts'],
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'sandboxes',
          include: ['packages/*/test/**/*.test.ts', 'tests/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
