import type { EmbeddedSandbox, ProcessEvent, ProcessWatch } from '@hearth/engine'
import type { RecordEntry } from '@hearth/contract'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'

/**
 * Records what programs processes execute, where the sandbox was made with that; for as long as this machine is its. Resolves when
 * nothing is missed any more, so that the first command is in the record too.
 */
export async function recordProcesses(context: Context, live: LiveSandbox, machine: EmbeddedSandbox): Promise<void> {
  const { id, spec } = live.record
  if (spec.record?.processes !== true) return
  // What fails before the end of its machine leaves a gap, and the record says so.
  const failed = (error: unknown): void => {
    if (live.machine !== machine) return
    context.records.lose(id, 'watch', 'process')
    context.report(`recording the processes of ${id}`, error)
  }
  try {
    const watch = await machine.watchProcesses()
    void follow(context, live, watch).catch(failed)
  } catch (error) {
    failed(error)
  }
}

async function follow(context: Context, { record }: LiveSandbox, watch: ProcessWatch): Promise<void> {
  const recorder = context.records.of(record.id)
  await using events = watch
  for await (const event of events) {
    if (event.kind === 'missed') context.records.lose(record.id, 'rate', 'process', event.count)
    else recorder.add(entryOf(event))
  }
}

function entryOf(event: Exclude<ProcessEvent, { kind: 'missed' }>): RecordEntry {
  return event.kind === 'executed' ? { ...event, kind: 'process' } : { ...event, kind: 'process-exit' }
}
