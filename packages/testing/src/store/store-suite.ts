import { afterEach, beforeEach } from 'vitest'
import { DEFAULT_LIMITS, type Quotas } from '@hearth/contract'
import type { NewSandbox, SandboxRecord, Sources, Store, StoreSession, Tenant } from '@hearth/server/state'

export interface StoreSuiteOptions {
  readonly name: string
  /** A new, empty database. */
  readonly open: () => Promise<TestDatabase>
}

export interface TestDatabase extends AsyncDisposable {
  /** Opens it, each time with connections of its own, as another server on the same database would. `key`: that of the server. */
  connect(sources?: Partial<Sources>, key?: Uint8Array): Promise<Store>
  /** A statement of somebody who has the database and not the server. */
  execute(statement: string): Promise<void>
}

/** One store on one empty database, with a clock that stands still until it is moved. New for every test. */
export interface StoreFixture {
  readonly store: Store
  /** Another store on the same database, with the same clock. Closed at the end of the test. */
  readonly connect: (key?: Uint8Array) => Promise<Store>
  readonly execute: TestDatabase['execute']
  readonly now: () => number
  readonly advance: (milliseconds: number) => void
  readonly tenant: (quotas?: Partial<Quotas>) => Promise<Tenant>
  readonly sandbox: (tenant: Tenant, change?: Partial<NewSandbox>, session?: StoreSession) => Promise<SandboxRecord>
}

export function useStore(options: StoreSuiteOptions): () => StoreFixture {
  let current: (StoreFixture & AsyncDisposable) | null = null
  beforeEach(async () => {
    current = await openFixture(options)
  }, 60_000)
  afterEach(async () => {
    await current?.[Symbol.asyncDispose]()
    current = null
  }, 60_000)
  return () => {
    if (current === null) throw new Error('only inside a test')
    return current
  }
}

async function openFixture(options: StoreSuiteOptions): Promise<StoreFixture & AsyncDisposable> {
  const database = await options.open()
  const stores: Store[] = []
  let time = 1_750_000_000_000
  let tenants = 0
  const connect = async (key?: Uint8Array): Promise<Store> => {
    const store = await database.connect({ now: () => time }, key)
    stores.push(store)
    return store
  }
  const store = await connect()
  return {
    store,
    connect,
    execute: (statement) => database.execute(statement),
    now: () => time,
    advance: (milliseconds) => {
      time += milliseconds
    },
    tenant: (quotas = {}) => store.tenants.create({ name: `tenant ${++tenants}`, quotas }),
    sandbox: (tenant, change = {}, session = store) => session.sandboxes.insert(newSandbox(tenant, time, change)),
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((opened) => opened.close()))
      await database[Symbol.asyncDispose]()
    },
  }
}

export function newSandbox(tenant: Tenant, now: number, change: Partial<NewSandbox> = {}): NewSandbox {
  return {
    tenantId: tenant.id,
    rung: 'process',
    driver: 'bubblewrap 0.8.0',
    template: 'host',
    spec: { rung: 'process' },
    limits: DEFAULT_LIMITS,
    expiresAt: now + 60_000,
    ...change,
  }
}
