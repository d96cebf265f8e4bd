import type { EmbeddedSandbox } from '@hearth/engine'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { recordFiles } from './recording-files.ts'
import { recordProcesses } from './recording-processes.ts'

const begun = new WeakSet<EmbeddedSandbox>()

/** Records what happens in a machine beside commands and the network, as its sandbox was made with; of one that is paused when it goes on. */
export async function beginRecording(context: Context, live: LiveSandbox, machine: EmbeddedSandbox): Promise<void> {
  if (machine.paused || begun.has(machine)) return
  begun.add(machine)
  recordFiles(context, live, machine)
  await recordProcesses(context, live, machine)
}
