import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Hearth } from '@hearth/engine'
import { describeBareHost, describeSecurity } from '@hearth/testing'
import { afterAll, expect, test } from 'vitest'
import { createOn, describeEachRung } from '../support/ladder.ts'

const hearth = new Hearth()
const guestDigest = (): string => createHash('sha256').update(readFileSync(hearth.paths.guest)).digest('hex')
const guestBefore = guestDigest()

describeBareHost()

await describeEachRung(hearth, (step) =>
  describeSecurity({
    name: `${step.rung} (${step.probe.label})`,
    create: async (spec) => await createOn(hearth, step, spec),
    capabilities: step.probe.capabilities,
    sharesKernel: step.rung === 'process' || step.rung === 'container',
  }),
)

test('the guest program on the host is what it was', () => {
  expect(guestDigest()).toBe(guestBefore)
})

afterAll(async () => await hearth.dispose(), 120_000)
