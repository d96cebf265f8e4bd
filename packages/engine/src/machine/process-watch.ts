import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import type { CommandRoots } from './command-roots.ts'
import { ProcessEventReader, type HeardEvent, type ProcessEvent } from './process-events.ts'

/** How long after its stream the end of a machine may be noticed. */
const LINGER_MS = 2000

/** Ends with its machine, and fails when it ends before: then something is missing. */
export type ProcessWatch = AsyncIterable<ProcessEvent> & AsyncDisposable

/** Resolves when everything from then on is heard, or is counted where it is missing. `gone`: the machine is, or is no longer ours. */
export async function watchProcesses(
  chunks: AsyncIterable<Uint8Array>,
  roots: CommandRoots,
  gone: AbortSignal,
): Promise<ProcessWatch> {
  const events = heard(chunks, gone)
  const stop = async (): Promise<void> => void (await events.return(undefined))
  try {
    const { value: first } = await events.next()
    if (first?.kind !== 'missed') throw new HearthError('watch_failed', 'the stream of processes did not begin')
  } catch (error) {
    await stop()
    throw error
  }
  return { [Symbol.asyncIterator]: () => attributed(events, roots), [Symbol.asyncDispose]: stop }
}

async function* heard(chunks: AsyncIterable<Uint8Array>, gone: AbortSignal): AsyncGenerator<HeardEvent, undefined> {
  const reader = new ProcessEventReader()
  try {
    for await (const chunk of chunks) yield* reader.push(chunk)
    throw new HearthError('watch_failed', 'the stream of processes ended before its sandbox')
  } catch (error) {
    if (!(await isGone(gone))) throw error
  }
}

async function isGone(gone: AbortSignal): Promise<boolean> {
  // Rejects when it goes meanwhile.
  if (!gone.aborted) await sleep(LINGER_MS, undefined, { signal: gone }).catch(() => undefined)
  return gone.aborted
}

async function* attributed(events: AsyncIterable<HeardEvent>, roots: CommandRoots): AsyncGenerator<ProcessEvent> {
  for await (const event of events) {
    if (event.kind === 'missed') {
      yield event
      continue
    }
    const { root, ...rest } = event
    yield { process: await roots.find(root), ...rest }
  }
}
