import { BOUNDS, HearthError, parseInput, type CreateSandbox, type SandboxView } from '@hearth/contract'
import { lockHome, type Hearth, type RungReport } from '@hearth/engine'
import { z } from 'zod'
import { LocalVolumes } from '../volumes/local-volumes.ts'
import { settleVolumes } from '../volumes/removing-volumes.ts'
import { atMost } from './at-most.ts'
import type {
  Caller,
  ControlPlane,
  KeyedCall,
  ListQuery,
  Page,
  RepositoryControl,
  SandboxKey,
  SandboxUse,
  WorkspaceControl,
} from '../control-plane.ts'
import type { Records } from '../record/records.ts'
import { isAlive, type Store } from '../state/index.ts'
import type { AdmissionLimits } from './admission.ts'
import type { Context } from './context.ts'
import { beginBoth, finishCreate } from './creating.ts'
import { planWithWorkspace } from './create-in-workspace.ts'
import { findAnywhere, findLive, findRecord } from './finding.ts'
import { hostIdentity } from './host-identity.ts'
import { Housekeeping, type HousekeepingOptions } from './housekeeping.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { LocalCopies } from './local-copies.ts'
import { LocalSleep } from './local-sleep.ts'
import { LocalPolicies } from './local-policies.ts'
import { LocalSnapshots } from './local-snapshots.ts'
import { LocalTemplates } from './local-templates.ts'
import { newContext } from './new-context.ts'
import { endMadeBy, endOrphans } from './orphans.ts'
import { pauseSandbox } from './pausing.ts'
import { reconcile, takeUpAll } from './reconciling.ts'
import { beginRecovery } from './recovering.ts'
import { deleteSandbox, stopSandbox, wasDeleted } from './removing.ts'
import { settleSnapshots } from './removing-snapshots.ts'
import { renewSandbox } from './renewing.ts'
import { givenUp, replayCreate, unlessAborted } from './replaying.ts'
import type { Step } from './steps.ts'
import { hostReport } from './host-report.ts'
import { deleteElsewhere } from './silent-hosts.ts'
import { requireAlive, toView } from './view.ts'
import { awake, wakeInTurn } from './waking.ts'
import type { WorkspaceStep } from '../workspaces/steps.ts'
import { ownIdempotencyKey, requireKey } from './within-grant.ts'

const ttlSchema = z.int().min(1000).max(BOUNDS.maximumTtlMs)

/** How long a shutdown waits for changes that are under way; the next start finishes those that take longer. */
const CLOSE_MS = 10_000

export interface LocalControlPlaneOptions {
  /** Closed together with the control plane. */
  readonly store: Store
  /** Its home belongs to this server: sandboxes in it that no row tells of are removed. Released together with the control plane. */
  readonly hearth: Hearth
  /** Called at every instant between two durable effects. */
  readonly onStep?: (name: Step | WorkspaceStep) => void
  /** Told of what fails while nobody waits for it. */
  readonly onProblem?: (what: string, error: unknown) => void
  /** How long an operation is held before another server may take it over. Default 30 s, renewed while it goes on. */
  readonly leaseMs?: number
  /** A host that was not heard of for this long is taken for gone. Default 5 minutes. */
  readonly silentMs?: number
  readonly admission?: Partial<AdmissionLimits>
  /** What happens in sandboxes is told there; the same that the engine tells. Default: one of its own. */
  readonly records?: Records
  readonly housekeeping?: HousekeepingOptions
  /** How full the store is, from 0 to 1: beyond some of it workspaces are given up. Default: what its file system says. */
  readonly storeShare?: () => Promise<number>
}

/** The control plane of one host: the rows of the store and the machines of the engine, kept in agreement. */
export class LocalControlPlane implements ControlPlane, AsyncDisposable {
  readonly copies: LocalCopies
  readonly sleep: LocalSleep
  readonly snapshots: LocalSnapshots
  readonly volumes: LocalVolumes
  readonly templates: LocalTemplates
  readonly policies: LocalPolicies
  readonly repositories: RepositoryControl
  readonly workspaces: WorkspaceControl
  readonly pool: ControlPlane['pool']
  readonly report: ControlPlane['report']
  readonly #context: Context
  readonly #housekeeping: Housekeeping
  readonly #lock: AsyncDisposable
  /** Resolves when every machine that was found at the start has been taken up. */
  readonly recovered: Promise<void>
  #closing: Promise<void> | null = null

  private constructor(
    context: Context,
    lock: AsyncDisposable,
    options: LocalControlPlaneOptions,
    found: Promise<void>,
  ) {
    this.#context = context
    this.copies = new LocalCopies(context, () => this.#requireOpen())
    this.sleep = new LocalSleep(context, () => this.#requireOpen())
    this.snapshots = new LocalSnapshots(context, () => this.#requireOpen())
    this.volumes = new LocalVolumes(context, () => this.#requireOpen())
    this.templates = new LocalTemplates(context, () => this.#requireOpen())
    this.policies = new LocalPolicies(context, () => this.#requireOpen())
    this.repositories = context.workspaces.repositories
    this.workspaces = context.workspaces.workspaces
    this.pool = context.hearth.pool
    this.#lock = lock
    this.#housekeeping = new Housekeeping(context, options.housekeeping ?? {})
    this.report = () => hostReport(context, this.#housekeeping)
    this.#housekeeping.start()
    this.recovered = found
  }

  /** Resolves when requests can be served. What the last life of this server left undone is finished behind them. */
  static async open(options: LocalControlPlaneOptions): Promise<LocalControlPlane> {
    const { store, hearth } = options
    const lock = await lockHome(hearth.paths.home)
    try {
      const hostId = await hostIdentity(hearth.paths.home)
      const context = newContext(options, hostId)
      await store.hosts.register(hostId)
      await store.operations.releaseOwner(hostId)
      await reconcile(context)
      await settleSnapshots(context)
      await settleVolumes(context)
      await context.workspaces.settle()
      await endOrphans(context)
      // All that was left undone has its turn before any request.
      const recovery = await beginRecovery(context)
      const found = Promise.all([recovery.finished, takeUpAll(context)]).then(() => undefined)
      return new LocalControlPlane(context, lock, options, found)
    } catch (error) {
      await lock[Symbol.asyncDispose]()
      throw error
    }
  }

  async create(
    caller: Caller,
    request: CreateSandbox,
    options: KeyedCall & { readonly key?: SandboxKey | null },
  ): Promise<SandboxView> {
    this.#requireOpen()
    const context = this.#context
    const { signal, key = null } = options
    const idempotencyKey = ownIdempotencyKey(caller, options.idempotencyKey)
    const planned = await planWithWorkspace(context, caller, request, { ...options, idempotencyKey })
    if (signal.aborted) throw givenUp(signal)
    context.records.begin(planned.row)
    using admitted = new DisposableStack()
    requireKey(planned.row.spec, key)
    const origin = { idempotencyKey, requestId: caller.requestId, key }
    const { operation, live, early } = await beginBoth(context, planned, origin, admitted)
    if (live === null) {
      context.records.forget(planned.row.id)
      return toView(await replayCreate(context, operation, signal))
    }
    // Who has a key comes back for the sandbox; for anybody else it is abandoned with the call.
    if (idempotencyKey === null) return toView(await finishCreate(context, live, operation, { signal, early }))
    return toView(await unlessAborted(finishCreate(context, live, operation, { early }), signal))
  }

  async get(caller: Caller, id: string): Promise<SandboxView> {
    this.#requireOpen()
    return toView(await findAnywhere(this.#context, caller, id))
  }

  async list(caller: Caller, query: ListQuery): Promise<Page<SandboxView>> {
    this.#requireOpen()
    const { limit, cursor, state, rung, metadata } = query
    const states = state === null ? query.states : [state]
    const page = await this.#context.store.sandboxes.list({
      tenantId: caller.tenantId,
      limit,
      metadata,
      ...(caller.holder === null ? {} : { below: caller.holder.path }),
      ...(cursor === null ? {} : { cursor }),
      ...(states === undefined ? {} : { states }),
      ...(rung === null ? {} : { rungs: [rung] }),
    })
    return { items: page.items.map(toView), next: page.next }
  }

  async renew(caller: Caller, id: string, ttlMs: number): Promise<SandboxView> {
    const ttl = parseInput(ttlSchema, ttlMs, 'ttlMs')
    return await this.#change(caller, id, (live) => renewSandbox(this.#context, live, caller, ttl))
  }

  async pause(caller: Caller, id: string): Promise<SandboxView> {
    return await this.#change(caller, id, (live) => pauseSandbox(this.#context, live, 'request'))
  }

  async resume(caller: Caller, id: string): Promise<SandboxView> {
    return await this.#change(caller, id, async (live) => void (await wakeInTurn(this.#context, live)))
  }

  async stop(caller: Caller, id: string): Promise<SandboxView> {
    this.#requireOpen()
    const live = this.#context.live.ensure(await findRecord(this.#context, caller, id))
    try {
      const { record } = live
      await live.inTurn(() => stopSandbox(this.#context, live, 'request'))
      await endMadeBy(this.#context, record)
      return toView(live.record)
    } finally {
      if (!isAlive(live.record.state)) this.#context.live.remove(live)
    }
  }

  async delete(caller: Caller, id: string): Promise<void> {
    this.#requireOpen()
    const { live: known, store } = this.#context
    const record = await findAnywhere(this.#context, caller, id).catch(async (error: unknown) => {
      const gone = HearthError.isInstance(error) && error.code === 'sandbox_not_found'
      if (gone && caller.holder === null && (await wasDeleted(store, caller.tenantId, id))) return null
      throw error
    })
    if (record === null) return
    if (record.hostId !== this.#context.hostId) return await deleteElsewhere(this.#context, record)
    const live = known.ensure(record)
    live.abandoned.abort()
    await live.inTurn(() => deleteSandbox(this.#context, live, 'request'))
    await endMadeBy(this.#context, record)
  }

  async use(caller: Caller, id: string): Promise<SandboxUse> {
    this.#requireOpen()
    const live = await findLive(this.#context, caller, id)
    const held = live.use()
    try {
      const sandbox = await awake(this.#context, live)
      return { sandbox: this.#context.records.recorded(sandbox), [Symbol.dispose]: () => held[Symbol.dispose]() }
    } catch (error) {
      held[Symbol.dispose]()
      throw error
    }
  }

  async rungs(): Promise<readonly RungReport[]> {
    return await this.#context.hearth.rungs()
  }

  async endOrphans(): Promise<void> {
    this.#requireOpen()
    await endOrphans(this.#context)
  }

  /** One of the server's own rounds now: recovery, reconciliation, retention. */
  async reconcile(): Promise<void> {
    this.#requireOpen()
    await this.#housekeeping.round()
  }

  /** Lets go of everything in order. Sandboxes live on, and the next start finds them. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { live, hearth, store, records, workspaces } = this.#context
    workspaces.close()
    await this.#housekeeping.stop()
    const settled = async (): Promise<void> => {
      await this.recovered.catch(() => undefined)
      await Promise.all([...live].map((sandbox) => sandbox.settled()))
    }
    await atMost(CLOSE_MS, settled())
    for (const sandbox of live) sandbox.retire()
    await this.#housekeeping.writeActivity()
    await hearth.release()
    // Those that live in this process have ended just now, which is written down too.
    await atMost(CLOSE_MS, settled())
    await records.close()
    await store.close()
    await this.#lock[Symbol.asyncDispose]()
  }

  async #change(caller: Caller, id: string, change: (live: LiveSandbox) => Promise<void>): Promise<SandboxView> {
    this.#requireOpen()
    const live = await findLive(this.#context, caller, id)
    return await live.inTurn(async () => {
      requireAlive(live.record)
      await change(live)
      return toView(live.record)
    })
  }

  #requireOpen(): void {
    if (this.#closing !== null) throw new HearthError('shutting_down', 'the server is being stopped')
  }
}
