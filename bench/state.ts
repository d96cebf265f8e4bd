import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_LIMITS } from '@hearth/contract'
import { createWithinQuota, openStore, type SandboxRecord, type Store } from '@hearth/server/state'

/** The durable state in this process: `node bench/state.ts [URL]`, on a new SQLite file when no url is given. */

const ROWS = 1000
const GETS = 20_000
const LISTS = 30

/** What the control plane counts on, in one process and on one core. */
const TARGETS = { getsPerSecond: 20_000, listMs: 20 } as const

/** Times are medians, unless their name says otherwise. */
interface StateReport {
  readonly dialect: string
  readonly rows: number
  readonly createMs: number
  readonly getsPerSecond: number
  readonly listMs: number
  readonly listP99Ms: number
  readonly filteredListMs: number
  readonly transitionMs: number
  readonly claimMs: number
  readonly openMs: number
}

async function measureState(url: string): Promise<StateReport> {
  const store = await openStore({ url })
  try {
    const { tenantId, records, createMs } = await fill(store)
    const list = await times(LISTS, async () => {
      const page = await store.sandboxes.list({ tenantId, limit: ROWS })
      if (page.items.length !== ROWS) throw new Error(`listed ${page.items.length} of ${ROWS}`)
    })
    const filtered = await times(LISTS, () =>
      store.sandboxes.list({ tenantId, metadata: { user: 'user-3', purpose: 'bench' } }),
    )
    const getsPerSecond = await measureGets(store, records)
    const transition = await times(200, async (index) => {
      const record = records[index]
      if (record !== undefined) await store.sandboxes.transition(record, 'running')
    })
    const claim = await times(200, async () => {
      const [operation] = await store.operations.claim({ owner: 'bench', leaseMs: 1000 })
      if (operation !== undefined) await store.operations.finish(operation, 'done')
    })
    const open = await times(5, async () => await (await openStore({ url })).close())
    return {
      dialect: store.dialect,
      rows: ROWS,
      createMs,
      getsPerSecond,
      listMs: quantile(list, 0.5),
      listP99Ms: quantile(list, 0.99),
      filteredListMs: quantile(filtered, 0.5),
      transitionMs: quantile(transition, 0.5),
      claimMs: quantile(claim, 0.5),
      openMs: quantile(open, 0.5),
    }
  } finally {
    await store.close()
  }
}

async function fill(store: Store): Promise<{ tenantId: string; records: SandboxRecord[]; createMs: number }> {
  const quotas = { sandboxes: 1e6, cpus: 1e6, memoryBytes: 2 ** 52, diskBytes: 2 ** 52 }
  const { id: tenantId } = await store.tenants.create({ name: `bench ${Date.now()}`, quotas })
  const records: SandboxRecord[] = []
  const create = await times(ROWS, async (index) => {
    const record = await store.transaction(async (session) => {
      const created = await createWithinQuota(session, {
        tenantId,
        rung: 'process',
        driver: 'bubblewrap 0.8.0',
        template: 'host',
        spec: { rung: 'process', env: { LANG: 'C.UTF-8' }, ttlMs: 3_600_000 },
        limits: DEFAULT_LIMITS,
        metadata: { user: `user-${index % 20}`, purpose: 'bench' },
        expiresAt: Date.now() + 3_600_000,
      })
      await session.operations.begin({ tenantId, kind: 'create', sandboxId: created.id })
      await session.events.append({ tenantId, sandboxId: created.id, type: 'sandbox.creating' })
      return created
    })
    records.push(record)
  })
  return { tenantId, records, createMs: quantile(create, 0.5) }
}

async function measureGets(store: Store, records: readonly SandboxRecord[]): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < 5; round++) {
    const started = performance.now()
    for (let index = 0; index < GETS; index++) await store.sandboxes.get(records[index % records.length]?.id ?? '')
    rounds.push((GETS / (performance.now() - started)) * 1000)
  }
  return Math.round(quantile(rounds, 0.5))
}

async function times(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = []
  for (let index = 0; index < count; index++) {
    const started = performance.now()
    await work(index)
    samples.push(performance.now() - started)
  }
  return samples
}

function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((left, right) => left - right)
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3))
}

const directory = await mkdtemp(join(tmpdir(), 'hearth-bench-state-'))
try {
  const report = await measureState(process.argv[2] ?? `sqlite:${join(directory, 'hearth.db')}`)
  const pass = report.getsPerSecond >= TARGETS.getsPerSecond && report.listMs <= TARGETS.listMs
  process.stdout.write(`${JSON.stringify({ ...report, targets: TARGETS, pass }, null, 2)}\n`)
  process.exitCode = pass ? 0 : 1
} finally {
  await rm(directory, { recursive: true, force: true })
}
