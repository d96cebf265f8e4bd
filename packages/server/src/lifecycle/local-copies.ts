import {
  diffOptionsSchema,
  forkRequestSchema,
  mergeRequestSchema,
  parseInput,
  takeSnapshotSchema,
  type DiffOptions,
  type FileChange,
  type ForkView,
  type MergeResult,
  type SnapshotInfo,
} from '@hearth/contract'
import type { z } from 'zod'
import type { Caller, CopyControl, KeyedCall } from '../control-plane.ts'
import type { Operation, SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { findLive, findRecord } from './finding.ts'
import { wakeSandbox } from './hibernating.ts'
import { findSnapshot } from './finding-snapshots.ts'
import { beginFork, finishFork, type ForkOutcome } from './forking.ts'
import { infoOf } from './local-snapshots.ts'
import { mergeInTurn } from './merging.ts'
import { outcomeOf, unlessAborted } from './replaying.ts'
import { beginSnapshot, finishSnapshot, snapshotOf } from './snapshotting.ts'
import { trackWork } from './under-way.ts'
import { toView } from './view.ts'
import { awake } from './waking.ts'
import { isVisible, ownIdempotencyKey, requireUnlimited } from './within-grant.ts'

/** How sandboxes of this host are captured, copied and compared. */
export class LocalCopies implements CopyControl {
  readonly #context: Context
  readonly #requireOpen: () => void

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async snapshot(
    caller: Caller,
    id: string,
    request: z.input<typeof takeSnapshotSchema>,
    { idempotencyKey, signal }: KeyedCall,
  ): Promise<SnapshotInfo> {
    this.#requireOpen()
    const context = this.#context
    requireUnlimited(caller, 'snapshots')
    const asked = parseInput(takeSnapshotSchema, request, 'request')
    const live = await findLive(context, caller, id)
    // Who has a key comes back for the snapshot; for anybody else it is abandoned with the call.
    const abandon = idempotencyKey === null ? signal : null
    const work = live.inTurn(async (): Promise<Operation> => {
      using _used = live.use()
      if (live.record.state === 'hibernated') await wakeSandbox(context, live)
      const { operation, created } = await beginSnapshot(context, live, asked, idempotencyKey)
      if (!created) return operation
      return await trackWork(context, operation, finishSnapshot(context, live, operation, abandon))
    })
    const begun = idempotencyKey === null ? await work : await unlessAborted(work, signal)
    const operation = await outcomeOf(context, begun, signal)
    return infoOf(await findSnapshot(context, caller.tenantId, snapshotOf(operation)))
  }

  async fork(
    caller: Caller,
    id: string,
    request: z.input<typeof forkRequestSchema>,
    { idempotencyKey, signal }: KeyedCall,
  ): Promise<ForkView> {
    this.#requireOpen()
    const context = this.#context
    const ownKey = ownIdempotencyKey(caller, idempotencyKey)
    const asked = { caller, request: parseInput(forkRequestSchema, request, 'request'), idempotencyKey: ownKey }
    const parent = await findLive(context, caller, id)
    // Who has a key comes back for the children; for anybody else they are abandoned with the call.
    const signals = idempotencyKey === null ? [signal] : []
    const work = parent.inTurn(async (): Promise<Operation> => {
      using _used = parent.use()
      if (parent.record.state === 'hibernated') await wakeSandbox(context, parent)
      using admitted = new DisposableStack()
      const { operation, children } = await beginFork(context, parent, asked, admitted)
      if (children === null) return operation
      return await trackWork(context, operation, finishFork(context, parent, { operation, children }, signals))
    })
    const begun = idempotencyKey === null ? await work : await unlessAborted(work, signal)
    return await this.#forkView(await outcomeOf(context, begun, signal))
  }

  async #forkView({ result, tenantId }: Operation): Promise<ForkView> {
    const { children, memory = false, reason = null, pausedMs = 0 } = result as ForkOutcome
    const { live, store } = this.#context
    const find = async (id: string): Promise<SandboxRecord> =>
      live.get(id)?.record ?? (await store.sandboxes.get(id, tenantId))
    return { children: (await Promise.all(children.map(find))).map(toView), memory, reason, pausedMs }
  }

  async diff(caller: Caller, id: string, options: DiffOptions): Promise<FileChange[]> {
    this.#requireOpen()
    const context = this.#context
    const { signal, ...asked } = options
    const { since, paths, contentBytes } = parseInput(diffOptionsSchema, asked, 'options')
    const live = await findLive(context, caller, id)
    // Another tenant's snapshot is not found; the point at which it was forked itself is its own.
    if (since !== undefined && since !== 'template' && since !== 'origin' && since !== live.record.originId) {
      requireUnlimited(caller, 'snapshots')
      await findSnapshot(context, caller.tenantId, since)
    }
    using _used = live.use()
    const machine = await awake(context, live)
    return await machine.diff({
      ...(signal === undefined ? {} : { signal }),
      ...(since === undefined ? {} : { since }),
      ...(paths === undefined ? {} : { paths }),
      ...(contentBytes === undefined ? {} : { contentBytes }),
    })
  }

  async merge(
    caller: Caller,
    id: string,
    request: z.input<typeof mergeRequestSchema>,
    signal: AbortSignal,
  ): Promise<MergeResult> {
    this.#requireOpen()
    const { child: childId, ...rest } = parseInput(mergeRequestSchema, request, 'request')
    const parent = await findLive(this.#context, caller, id)
    const child = await findLive(this.#context, caller, childId)
    using _used = parent.use()
    using _childUsed = child.use()
    return await mergeInTurn(this.#context, parent, child, rest, signal)
  }

  async tree(caller: Caller, id: string): Promise<readonly SandboxRecord[]> {
    this.#requireOpen()
    await findRecord(this.#context, caller, id)
    const related = await this.#context.store.sandboxes.lineage(caller.tenantId, id)
    return related.filter((record) => isVisible(caller, record))
  }
}
