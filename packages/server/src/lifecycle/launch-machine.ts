import type { EmbeddedSandbox } from '@hearth/engine'
import type { Context } from './context.ts'
import { CreateProgress } from './create-progress.ts'
import { engineSpec, launchOptions, type PlannedCreate } from './create-request.ts'

/** Starts the machine of a row, and tells what takes long about it. */
export async function launchMachine(
  context: Pick<Context, 'hearth' | 'store' | 'report'>,
  row: Pick<PlannedCreate['row'], 'id' | 'tenantId' | 'spec'>,
  signal: AbortSignal,
): Promise<EmbeddedSandbox> {
  const progress = new CreateProgress(context, row)
  try {
    return await context.hearth.create(engineSpec(row.spec), {
      ...launchOptions(row),
      signal,
      onProgress: (line) => progress.say(line),
    })
  } finally {
    progress.stop()
  }
}
