import type {
  AgentEvent,
  RunId,
  RunInfo,
  RunLease,
  RunMessage,
  RunMessageKind,
  RunProgress,
  RunState,
} from '@hearth/contract'
import type { NewRun, RunRepository, Store } from '../state/index.ts'

/** What the routes need: the runs of the store, with what everybody should know of them in the record. */
export interface RunService extends Pick<
  RunRepository,
  'get' | 'list' | 'take' | 'renew' | 'release' | 'events' | 'followEvents' | 'messages' | 'followMessages'
> {
  create(tenantId: string, given: NewRun): Promise<{ readonly run: RunInfo; readonly lease: RunLease }>
  append(tenantId: string, run: RunId, lease: number, events: readonly AgentEvent[]): Promise<void>
  post(tenantId: string, run: RunId, kind: RunMessageKind, text: string): Promise<RunMessage>
}

const TOLD: Readonly<Record<RunState, string>> = {
  running: 'run.resumed',
  paused: 'run.paused',
  stopped: 'run.stopped',
}

/** SAFETY: which sandbox a run works in is what its driver says, so that no event of it is in the record of a sandbox. */
export function runService(store: Store): RunService {
  const { runs } = store
  return {
    get: (...given) => runs.get(...given),
    list: (...given) => runs.list(...given),
    take: (...given) => runs.take(...given),
    renew: (...given) => runs.renew(...given),
    release: (...given) => runs.release(...given),
    events: (...given) => runs.events(...given),
    followEvents: (...given) => runs.followEvents(...given),
    messages: (...given) => runs.messages(...given),
    followMessages: (...given) => runs.followMessages(...given),
    create: async (tenantId, given) =>
      await store.transaction(async (session) => {
        const made = await session.runs.create(tenantId, given)
        const { id, model, parent } = made.run
        if (made.lease.lease === 1) {
          await session.events.append({ tenantId, type: 'run.created', data: { run: id, model, parent } })
        }
        return made
      }),
    append: async (tenantId, run, lease, events) =>
      await store.transaction(async (session) => {
        const appended = await session.runs.append(tenantId, run, lease, events)
        if (appended === null || appended.before.state === appended.after.state) return
        await session.events.append({ tenantId, type: TOLD[appended.after.state], data: told(run, appended.after) })
      }),
    post: async (tenantId, run, kind, text) =>
      await store.transaction(async (session) => {
        const message = await session.runs.post(tenantId, run, kind, text)
        const data = { run, kind, number: message.number }
        await session.events.append({ tenantId, type: 'run.told', data })
        return message
      }),
  }
}

function told(run: RunId, { reason, spent }: RunProgress): Record<string, unknown> {
  return reason === null ? { run } : { run, reason, ...spent }
}
