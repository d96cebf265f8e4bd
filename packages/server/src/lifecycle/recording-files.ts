import { HearthError, type WatchEvent } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { SandboxRecorder } from '../record/sandbox-recorder.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'

/** A file that is written again within this time is recorded once. */
const AGAIN_MS = 1000
const MOST_REMEMBERED = 1000

/** Records what changes below the paths that the sandbox was made with; for as long as this machine is its. */
export function recordFiles(context: Context, live: LiveSandbox, machine: EmbeddedSandbox): void {
  const { id, spec } = live.record
  const recorder = context.records.of(id)
  for (const path of spec.record?.files ?? []) {
    void followFiles(machine, path, recorder).catch((error: unknown) => {
      // With the end of its machine a watch ends too; any other end leaves a gap, and the record says so.
      if (live.machine !== machine || isEnd(error)) return
      context.records.lose(id, 'watch', 'file')
      context.report(`recording the files of ${id} below ${path}`, error)
    })
  }
}

function isEnd(error: unknown): boolean {
  return HearthError.isInstance(error) && ['sandbox_ended', 'link_lost', 'aborted'].includes(error.code)
}

async function followFiles(machine: EmbeddedSandbox, path: string, recorder: SandboxRecorder): Promise<void> {
  const seen = new Map<string, number>()
  await using changes = await machine.watch(path, { recursive: true })
  for await (const change of changes) {
    for (const entry of entriesOf(change)) {
      const key = `${entry.change} ${entry.path}`
      const now = performance.now()
      if (entry.change === 'changed' && now - (seen.get(key) ?? -Infinity) < AGAIN_MS) continue
      if (seen.size >= MOST_REMEMBERED) seen.clear()
      seen.set(key, now)
      recorder.add({ kind: 'file', process: null, ...entry })
    }
  }
}

function entriesOf({ kind, path, from }: WatchEvent): { path: string; change: 'added' | 'changed' | 'removed' }[] {
  switch (kind) {
    case 'created':
      return [{ path, change: 'added' }]
    case 'changed':
    case 'attributes':
      return [{ path, change: 'changed' }]
    case 'removed':
      return [{ path, change: 'removed' }]
    case 'renamed':
      return [...(from === null ? [] : [{ path: from, change: 'removed' as const }]), { path, change: 'added' }]
    case 'overflow':
      throw new HearthError('watch_failed', 'more changed than the guest could tell')
  }
}
