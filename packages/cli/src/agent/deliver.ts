import { writeFile } from 'node:fs/promises'
import type { AgentResult } from '@hearth/agent'
import { onLocal } from '../copy/local-failure.ts'
import { resultLine } from '../output/agent-view.ts'
import { writeJsonLine } from '../output/present.ts'
import { write } from '../output/write.ts'
import type { Delivered, Destination, Outcome } from './destination.ts'

export interface DeliveryOptions {
  /** A file; true or nothing for standard output. */
  readonly diff?: string | true
  readonly json?: boolean
  readonly quiet?: boolean
}

/** Says what came of a run, and gives its change, whatever ended it. */
export async function deliver(
  result: AgentResult,
  options: DeliveryOptions,
  task: string,
  destination: Destination | null,
  limit: number | null,
): Promise<void> {
  if (options.json !== true && options.quiet !== true) process.stderr.write(`${resultLine(result, limit)}\n`)
  await giveChange(result, options, task, destination)
}

/** A change that cannot be written where it should go is given as a patch, and then the error. */
export async function giveChange(
  outcome: Outcome,
  options: DeliveryOptions,
  task: string,
  destination: Destination | null,
): Promise<void> {
  const { json, diff } = options
  const patch = outcome.diff.available ? outcome.diff.patch : null
  const file = typeof diff === 'string' && patch !== null ? await written(diff, patch) : null
  const toOutput = async (): Promise<void> => {
    if (file?.written !== true && json !== true && patch !== null) await write(process.stdout, patch)
  }
  try {
    const delivered = (await destination?.write(outcome, task)) ?? null
    if (delivered !== null) await tell(delivered, options)
    if (delivered === null || diff === true) await toOutput()
  } catch (error) {
    await toOutput()
    throw error
  }
  if (file?.written === false) throw file.error
}

/** A file that cannot be written is told at the end: until then the change can go elsewhere. */
async function written(
  file: string,
  patch: Uint8Array,
): Promise<{ written: true } | { written: false; error: unknown }> {
  try {
    await onLocal(file, async () => await writeFile(file, patch))
    return { written: true }
  } catch (error) {
    return { written: false, error }
  }
}

async function tell(
  { id, people, json: told }: Delivered,
  { json, quiet }: Pick<DeliveryOptions, 'json' | 'quiet'>,
): Promise<void> {
  if (json === true) await writeJsonLine({ type: 'delivered', ...told })
  else if (quiet === true) await write(process.stdout, `${id}\n`)
  else process.stderr.write(people)
}
