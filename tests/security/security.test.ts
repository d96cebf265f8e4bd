import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Hearth } from '@hearth/engine'
import { describeBareHost, describeSecurity } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { createOn, ladder, templateFor } from '../support/ladder.ts'

const hearth = new Hearth()
const steps = await ladder(hearth)
for (const step of steps) if (step.probe.available) await hearth.templates.resolve(templateFor(step.probe), {})
const guestDigest = (): string => createHash('sha256').update(readFileSync(hearth.paths.guest)).digest('hex')
const guestBefore = guestDigest()

describeBareHost()

for (const step of steps) {
  if (!step.probe.available) {
    const { reason } = step.probe
    describe(step.rung, () => {
      test('is available', (context) => context.skip(reason))
    })
    continue
  }
  describeSecurity({
    name: `${step.rung} (${step.probe.label})`,
    create: async (spec) => await createOn(hearth, step, spec),
    capabilities: step.probe.capabilities,
    sharesKernel: step.rung === 'process' || step.rung === 'container',
  })
}

test('the guest program on the host is what it was', () => {
  expect(guestDigest()).toBe(guestBefore)
})

afterAll(async () => await hearth.dispose(), 120_000)
