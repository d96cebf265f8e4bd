import { join } from 'node:path'
import { RUNGS, type Rung, type Sandbox, type SandboxId, type SandboxSpec } from '@hearth/contract'
import type { Hearth, Probe, RungReport } from '@hearth/engine'
import type { Survivor } from '@hearth/testing'
import { describe, test } from 'vitest'

/** What the suites run over: each rung once, by the driver that a create would get. */
export interface Step {
  readonly rung: Rung
  readonly driver: string
  readonly probe: Probe
}

/** `HEARTH_RUNGS=process,gvisor` leaves the others out, for work on one of them. */
export async function ladder(hearth: Hearth): Promise<Step[]> {
  const wanted = process.env['HEARTH_RUNGS']?.split(',')
  const reports = await hearth.rungs()
  return RUNGS.filter((rung) => wanted === undefined || wanted.includes(rung)).map((rung) => best(reports, rung))
}

function best(reports: readonly RungReport[], rung: Rung): Step {
  const ofRung = reports.filter((report) => report.rung === rung)
  const found = ofRung.find((report) => report.probe.available) ?? ofRung[0]
  if (found === undefined) throw new Error(`the engine has no driver for the rung ${rung}`)
  return { rung, driver: found.driver, probe: found.probe }
}

/** The small template everywhere: the host's own tools, and Debian where a kernel of its own cannot see them. */
export function templateFor(probe: Probe): string {
  return probe.available && probe.capabilities.hostTemplate ? 'host' : 'debian'
}

/** A step that this host has. */
export type AvailableStep = Step & { readonly probe: Extract<Probe, { available: true }> }

/** Declares a suite for each rung; one that does not work here is skipped, and says why. Templates are made before any of them. */
export async function describeEachRung(hearth: Hearth, declare: (step: AvailableStep) => void): Promise<void> {
  for (const { rung, driver, probe } of await ladder(hearth)) {
    if (probe.available) {
      await hearth.templates.resolve(templateFor(probe), {})
      declare({ rung, driver, probe })
    } else {
      describe(rung, () => {
        test('is available', (context) => context.skip(probe.reason))
      })
    }
  }
}

export async function createOn(hearth: Hearth, step: Step, spec: SandboxSpec = {}): Promise<Sandbox> {
  return await hearth.create({ rung: step.rung, template: templateFor(step.probe), ...spec })
}

/** Another process that uses the same home, to be killed in the middle. */
export function survivorOf(hearth: Hearth, step: Step): Survivor {
  const program = join(import.meta.dirname, 'survivor.ts')
  return {
    argv: (command, readBytes) => [
      process.execPath,
      program,
      step.rung,
      templateFor(step.probe),
      command,
      String(readBytes),
    ],
    environment: { HEARTH_HOME: hearth.paths.home, HEARTH_GUEST: hearth.paths.guest },
    adopt: async (id: SandboxId) => await hearth.adopt(id),
  }
}
