import { expect, it } from 'vitest'
import { BOUNDS, type AgentEvent, type AgentEventBody, type RunId } from '@hearth/contract'
import type { NewRun } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const BUDGET = { steps: 10, tokens: 1000, dollars: null, wallTimeMs: 60_000 }
const GIVEN: NewRun = {
  task: 'fix \0 \ud800 it',
  model: 'scripted',
  budget: BUDGET,
  workspace: null,
  parent: null,
  metadata: { team: 'a\0b' },
  owner: 'one',
  leaseMs: 1000,
}
const started = { type: 'started', task: 't', model: 'm', workdir: '/w', verify: null, budget: BUDGET } as const
const BEGIN: AgentEventBody = { ...started, run: 'r', base: { missing: 'none' } }
const END: AgentEventBody = { type: 'stopped', reason: 'stopped', detail: '' }
const RESULT: AgentEventBody = {
  type: 'result',
  reason: 'stopped',
  detail: '',
  summary: null,
  verified: null,
  steps: 0,
  tokens: 0,
  dollars: 0,
  wallTimeMs: 0,
  files: [],
  moreFiles: 0,
  patch: null,
  withoutPatch: 'none',
}

function numbered(from: number, ...bodies: readonly AgentEventBody[]): AgentEvent[] {
  return bodies.map((body, index) => ({ ...body, seq: from + index, at: 1000 + from + index }))
}

function says(text: string): AgentEventBody {
  return { type: 'steered', text }
}

export function describeRuns(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('is kept and listed, each tenant for itself', async () => {
    const { store, tenant, advance, now } = fixture()
    const [own, other] = [await tenant(), await tenant()]
    const { run, lease } = await store.runs.create(own.id, GIVEN)
    expect(run).toMatchObject({ task: GIVEN.task, state: 'running', events: 0, messages: 0, complete: false })
    expect(run.driver).toEqual({ owner: 'one', until: new Date(now() + 1000) })
    expect(await store.runs.get(own.id, run.id)).toEqual(run)
    await expectRefusal(store.runs.get(other.id, run.id), 'run_not_found')
    await expectRefusal(store.runs.append(other.id, run.id, lease.lease, numbered(0, BEGIN)), 'run_not_found')
    await expectRefusal(store.runs.post(other.id, run.id, 'stop', ''), 'run_not_found')
    advance(5)
    const child = await store.runs.create(own.id, { ...GIVEN, parent: run.id, metadata: {} })
    const ids = async (filter: object): Promise<string[]> =>
      (await store.runs.list(own.id, filter)).items.map(({ id }) => id)
    expect(await ids({})).toEqual([child.run.id, run.id])
    expect(await ids({ parent: run.id })).toEqual([child.run.id])
    expect(await ids({ metadata: GIVEN.metadata })).toEqual([run.id])
    expect(await ids({ state: 'paused' })).toEqual([])
    const page = await store.runs.list(own.id, { limit: 1 })
    expect(await ids({ limit: 1, cursor: page.next ?? '' })).toEqual([run.id])
    expect((await store.runs.list(other.id)).items).toEqual([])
    await expectRefusal(store.runs.create(other.id, { ...GIVEN, parent: run.id }), 'run_not_found')
  })

  it('is begun once, however often it is asked for', async () => {
    const { store, tenant } = fixture()
    const { id } = await tenant()
    const given = { ...GIVEN, id: `run_${'0'.repeat(20)}` as RunId }
    await store.runs.create(id, given)
    const again = await store.runs.create(id, given)
    expect([again.run.id, again.lease.lease]).toEqual([given.id, 2])
    await expectRefusal(store.runs.create(id, { ...given, owner: 'two' }), 'conflict')
    await store.runs.append(id, given.id, 2, numbered(0, BEGIN))
    await expectRefusal(store.runs.create(id, given), 'conflict')
    expect((await store.runs.list(id)).items).toHaveLength(1)
  })

  it('is written down by one at a time, without a gap', async () => {
    const { store, tenant, advance, connect } = fixture()
    const { id } = await tenant()
    const { run, lease } = await store.runs.create(id, GIVEN)
    await store.runs.append(id, run.id, lease.lease, numbered(0, BEGIN, says('a')))
    // A repetition is no second event; another event in its place is refused.
    expect(await store.runs.append(id, run.id, lease.lease, numbered(1, says('a')))).toBeNull()
    await expectRefusal(store.runs.append(id, run.id, lease.lease, numbered(1, says('b'))), 'conflict')
    await expectRefusal(store.runs.append(id, run.id, lease.lease, numbered(3, says('b'))), 'conflict')
    await expectRefusal(store.runs.append(id, run.id, lease.lease, numbered(2, BEGIN)), 'invalid_request')
    await expectRefusal(store.runs.take(id, run.id, { owner: 'two', leaseMs: 1000, force: false }), 'conflict')
    advance(1000)
    const second = await connect()
    const taken = await second.runs.take(id, run.id, { owner: 'two', leaseMs: 1000, force: false })
    expect(taken.lease).toBe(2)
    await expectRefusal(store.runs.append(id, run.id, lease.lease, numbered(2, says('b'))), 'conflict')
    await expectRefusal(store.runs.renew(id, run.id, { lease: lease.lease, leaseMs: 1000 }), 'conflict')
    const both = await Promise.allSettled(
      ['x', 'y'].map(async (text) => await second.runs.append(id, run.id, 2, numbered(2, says(text)))),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const page = await store.runs.events(id, run.id, 0, 100)
    expect(page.events.map(({ seq }) => seq)).toEqual([0, 1, 2])
    // Given back, it is free at once, and what had it may not write any more.
    await store.runs.release(id, run.id, lease.lease)
    expect((await store.runs.get(id, run.id)).driver?.owner).toBe('two')
    await store.runs.release(id, run.id, 2)
    await expectRefusal(second.runs.append(id, run.id, 2, numbered(3, says('z'))), 'conflict')
    expect((await store.runs.take(id, run.id, { owner: 'three', leaseMs: 1000, force: false })).lease).toBe(3)
    expect((await store.runs.take(id, run.id, { owner: 'four', leaseMs: 1000, force: true })).lease).toBe(4)
  })

  it('has an end, also when it is full', async () => {
    const { store, tenant, execute } = fixture()
    const { id } = await tenant()
    const { run } = await store.runs.create(id, GIVEN)
    const append = async (...events: AgentEvent[]) => await store.runs.append(id, run.id, 1, events)
    await expectRefusal(append(...numbered(0, says('x'))), 'invalid_request')
    await append(...numbered(0, BEGIN))
    await expectRefusal(append(...numbered(1, says('x'.repeat(BOUNDS.runEventBytes)))), 'run_full')
    await execute(`update runs set bytes = ${BOUNDS.runBytes - 10}`)
    await expectRefusal(append(...numbered(1, says('x'))), 'run_full')
    await execute(`update runs set bytes = 0, events = ${BOUNDS.runEvents}`)
    await expectRefusal(append(...numbered(BOUNDS.runEvents, says('x'))), 'run_full')
    await append(...numbered(BOUNDS.runEvents, END))
    await expectRefusal(append(...numbered(BOUNDS.runEvents + 1, says('x'))), 'invalid_request')
    await expectRefusal(store.runs.post(id, run.id, 'steer', 'x'), 'invalid_state')
    const appended = await append(...numbered(BOUNDS.runEvents + 1, RESULT))
    expect(appended?.after).toMatchObject({ state: 'stopped', complete: true })
    await expectRefusal(store.runs.take(id, run.id, { owner: 'two', leaseMs: 1000, force: true }), 'invalid_state')
  })

  it('is told things in their order, up to a bound', async () => {
    const { store, tenant, execute } = fixture()
    const { id } = await tenant()
    const { run } = await store.runs.create(id, GIVEN)
    expect((await store.runs.post(id, run.id, 'steer', 'a \0 b')).number).toBe(1)
    const more = await Promise.all(
      ['pause', 'resume'].map(async (kind) => await store.runs.post(id, run.id, kind as 'pause', '')),
    )
    expect(new Set(more.map(({ number }) => number))).toEqual(new Set([2, 3]))
    const [first] = await store.runs.messages(id, run.id, 0, 1)
    expect(first).toMatchObject({ number: 1, kind: 'steer', text: 'a \0 b' })
    expect(await store.runs.messages(id, run.id, 1, 100)).toHaveLength(2)
    expect((await store.runs.get(id, run.id)).messages).toBe(3)
    await execute(`update runs set messages = ${BOUNDS.runMessages}`)
    await expectRefusal(store.runs.post(id, run.id, 'stop', ''), 'run_full')
  })

  it('is followed by others, from where they are to its end', async () => {
    const { store, tenant, connect } = fixture()
    const { id } = await tenant()
    const { run } = await store.runs.create(id, GIVEN)
    const follower = await connect()
    const seen: number[] = []
    const following = (async () => {
      for await (const page of follower.runs.followEvents(id, run.id, 1, new AbortController().signal)) {
        seen.push(...page.events.map(({ seq }) => seq))
      }
    })()
    const stop = new AbortController()
    const told = (async () => {
      for await (const message of follower.runs.followMessages(id, run.id, 0, stop.signal)) return message.text
      return null
    })()
    await store.runs.append(id, run.id, 1, numbered(0, BEGIN, says('x')))
    await store.transaction(async (session) => void (await session.runs.post(id, run.id, 'steer', 'left')))
    await store.runs.append(id, run.id, 1, numbered(2, END))
    await store.runs.append(id, run.id, 1, numbered(3, RESULT))
    await following
    expect(seen).toEqual([1, 2, 3])
    expect(await told).toBe('left')
    stop.abort()
  })

  it('has pages that fit into memory', async () => {
    const { store, tenant } = fixture()
    const { id } = await tenant()
    const { run } = await store.runs.create(id, GIVEN)
    const large = says('x'.repeat(BOUNDS.runEventBytes / 2))
    await store.runs.append(id, run.id, 1, numbered(0, BEGIN, large))
    await store.runs.append(id, run.id, 1, numbered(2, large))
    const page = await store.runs.events(id, run.id, 0, 100)
    expect([page.events.length, page.next, page.end]).toEqual([2, 2, false])
    const rest = await store.runs.events(id, run.id, page.next, 100)
    expect([rest.events.length, rest.next, rest.end]).toEqual([1, 3, true])
  })

  it('goes when nobody has touched it for long, with all that is of it', async () => {
    const { store, tenant, advance, now } = fixture()
    const { id } = await tenant()
    const { run } = await store.runs.create(id, GIVEN)
    await store.runs.append(id, run.id, 1, numbered(0, BEGIN))
    await store.runs.post(id, run.id, 'steer', 'x')
    expect(await store.runs.purge(now())).toBe(0)
    advance(5000)
    expect(await store.runs.purge(now())).toBe(1)
    await expectRefusal(store.runs.get(id, run.id), 'run_not_found')
    const again = await store.runs.create(id, { ...GIVEN, id: run.id })
    expect((await store.runs.events(id, again.run.id, 0, 10)).events).toEqual([])
    expect(await store.runs.messages(id, again.run.id, 0, 10)).toEqual([])
  })

  it('says how many a tenant may have that have not ended', async () => {
    const { store, tenant } = fixture()
    const { id } = await tenant()
    const given = { ...GIVEN, metadata: {} }
    await store.transaction(async (session) => {
      for (let count = 0; count < BOUNDS.liveRuns; count++) await session.runs.create(id, given)
    })
    await expectRefusal(store.runs.create(id, given), 'quota_exceeded')
    const [last] = (await store.runs.list(id, { limit: 1 })).items
    await store.runs.append(id, last?.id ?? ('' as RunId), 1, numbered(0, BEGIN, END))
    await store.runs.create(id, given)
  })
}
