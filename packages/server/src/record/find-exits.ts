import type { Sandbox } from '@hearth/contract'
import type { Store } from '../state/index.ts'
import type { SandboxRecorder } from './sandbox-recorder.ts'

const PAGE = 1000

/**
 * Records the ends of commands that nobody waits for. After a restart of the server it first compares what runs with what was recorded
 * before: a command that was started just before the server died may be missing.
 */
export async function findExits(store: Store, sandbox: Sandbox, recorder: SandboxRecorder): Promise<void> {
  if (recorder.isComplete && recorder.open.size === 0) return
  const before = new Set(recorder.open)
  const found = await sandbox.processes()
  if (!recorder.isComplete) {
    const known = found.length === 0 ? null : await recordedCommands(store, sandbox.id)
    for (const { id, command } of found) {
      if (known?.exited.has(id) === true || recorder.open.has(id)) continue
      const step = known?.started.get(id)
      if (step !== undefined) recorder.resume(id, step)
      else recorder.add({ kind: 'command', process: id, command, cwd: null, user: null, step: null, found: true })
    }
    recorder.isComplete = true
  }
  for (const { id, exit } of found) if (exit !== null) recorder.exited(id, exit)
  const listed = new Set(found.map(({ id }) => id))
  for (const id of before) if (!listed.has(id)) recorder.forget(id)
}

async function recordedCommands(
  store: Store,
  sandboxId: string,
): Promise<{ readonly started: ReadonlyMap<number, string | null>; readonly exited: ReadonlySet<number> }> {
  const started = new Map<number, string | null>()
  const exited = new Set<number>()
  for (let after = 0; ;) {
    const { events, next } = await store.events.page({ sandboxId, after, limit: PAGE })
    for (const { type, data } of events) {
      const { process, step = null } = data as { process?: unknown; step?: string | null }
      if (typeof process !== 'number') continue
      if (type === 'command.started') started.set(process, step)
      if (type === 'command.exited') exited.add(process)
    }
    if (events.length < PAGE) return { started, exited }
    after = next
  }
}
