import { describe } from 'vitest'
import { describeSuite } from './support/suite.ts'
import { describeAttaching } from './volumes/attaching.ts'
import { describeCopies } from './volumes/copies.ts'
import { describePrograms } from './volumes/programs.ts'
import { describeRunning } from './volumes/running.ts'
import { describeSharing } from './volumes/sharing.ts'
import { VolumeSuite, type VolumeSuiteOptions } from './volumes/volume-suite.ts'

/** What every rung with volumes must do: directories that outlive sandboxes, one writer at a time. */
export function describeVolumes(options: VolumeSuiteOptions): void {
  const { name, create, capabilities, skip = [] } = options
  describeSuite(
    { name, create, capabilities, skip },
    {
      volumes: (suite) => {
        const volumes = new VolumeSuite(options, suite)
        describe('attaching', () => {
          describeAttaching(volumes)
        })
        describe('sharing', () => {
          describeSharing(volumes)
        })
        describe('programs', () => {
          describePrograms(volumes)
        })
        if (capabilities.memory)
          describe('running processes', () => {
            describeRunning(volumes)
          })
        if (capabilities.snapshots)
          describe('copies', () => {
            describeCopies(volumes)
          })
      },
    },
  )
}
