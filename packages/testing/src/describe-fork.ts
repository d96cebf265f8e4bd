import { describe } from 'vitest'
import { describeCopies } from './fork/copies.ts'
import { ForkSuite, type ForkSuiteOptions } from './fork/fork-suite.ts'
import { describeMemory } from './fork/memory.ts'
import { describeRefusals } from './fork/refusals.ts'
import { describeSnapshots } from './fork/snapshots.ts'
import { describeUnderLoad } from './fork/under-load.ts'
import { describeSuite } from './support/suite.ts'

/** What every rung with snapshots must do, and those that capture memory more. */
export function describeFork(options: ForkSuiteOptions): void {
  const { name, create, capabilities, skip = [] } = options
  describeSuite(
    { name, create: (spec) => create(spec), capabilities, skip },
    {
      fork: (suite) => {
        const fork = new ForkSuite(options, suite)
        describe('copies', () => {
          describeCopies(fork)
        })
        describe('under load', () => {
          describeUnderLoad(fork)
        })
        describe('refusals', () => {
          describeRefusals(fork)
        })
        describe('snapshots', () => {
          describeSnapshots(fork)
        })
        if (capabilities.memory)
          describe('memory', () => {
            describeMemory(fork)
          })
      },
    },
  )
}
