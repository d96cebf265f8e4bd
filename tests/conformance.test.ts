import type { Rung } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { describeDriver, type SuiteSkip } from '@hearth/testing'
import { afterAll } from 'vitest'
import { createOn, describeEachRung, survivorOf } from './support/ladder.ts'

/** What a rung cannot do although no capability says so. */
const SKIPS: Partial<Record<Rung, readonly SuiteSkip[]>> = {
  simulated: [{ test: 'bash keeps its state', reason: 'no interpreter can be talked to: input is taken as a whole' }],
}

const hearth = new Hearth()

await describeEachRung(hearth, (step) =>
  describeDriver({
    name: `${step.rung} (${step.probe.label})`,
    skip: SKIPS[step.rung] ?? [],
    create: async (spec) => await createOn(hearth, step, spec),
    capabilities: step.probe.capabilities,
    ...(step.probe.capabilities.reconnect ? { survivor: survivorOf(hearth, step) } : {}),
  }),
)

afterAll(async () => await hearth.dispose(), 120_000)
