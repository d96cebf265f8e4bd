import { HearthError, type SandboxState, type SandboxView } from '@hearth/contract'
import { markOf } from '../mark.ts'
import { volumeNames } from '../volumes/volume-routes.ts'
import type { Answer, Call } from './call.ts'
import { listedSandbox, PAUSED_STATES, RUNNING_STATES } from './views.ts'

const MOST = 100
/** What an ascending list reads at the most, since it begins with the oldest. */
const MOST_ASCENDING = 10_000

interface Filter {
  readonly states: readonly SandboxState[]
  readonly metadata: Readonly<Record<string, string>>
  readonly template: string | null
  readonly startedAfter: number
}

/** A page of sandboxes, newest first unless told otherwise. */
export async function listSandboxes(call: Call, fixed: readonly SandboxState[] | null): Promise<Answer> {
  const { query } = call
  const limit = call.integer('limit', 1, MOST) ?? MOST
  const filter = { ...filterOf(query), ...(fixed === null ? {} : { states: fixed }) }
  const token = query.get('nextToken') ?? ''
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw new HearthError('invalid_request', 'order: must be asc or desc')
  const page =
    order === 'desc'
      ? await descending(call, filter, limit, token === '' ? null : token)
      : await ascending(call, filter, limit, token)
  const headers = page.next === null ? {} : { 'x-next-token': page.next }
  const volumes = await volumeNames(call, page.views)
  return { status: 200, json: page.views.map((view) => listedSandbox(view, volumes)), headers }
}

interface Page {
  readonly views: readonly SandboxView[]
  readonly next: string | null
}

async function descending(call: Call, filter: Filter, limit: number, from: string | null): Promise<Page> {
  const views: SandboxView[] = []
  let cursor = from
  for (;;) {
    const query = { limit: limit - views.length, cursor, state: null, rung: null, ...filter }
    const { items, next } = await call.plane.list(call.caller, query)
    for (const view of items) {
      // They come newest first: what follows is older still.
      if (Date.parse(view.createdAt) <= filter.startedAfter) return { views, next: null }
      if (matches(view, filter)) views.push(view)
    }
    cursor = next
    if (cursor === null || views.length >= limit) return { views, next: cursor }
  }
}

async function ascending(call: Call, filter: Filter, limit: number, token: string): Promise<Page> {
  if (!/^\d{0,9}$/.test(token))
    throw new HearthError('invalid_request', 'nextToken: is not one that a list has returned')
  const all: SandboxView[] = []
  let cursor: string | null = null
  do {
    const page = await descending(call, filter, MOST, cursor)
    all.push(...page.views)
    cursor = page.next
  } while (cursor !== null && all.length < MOST_ASCENDING)
  const start = Number(token)
  const views = all.reverse().slice(start, start + limit)
  return { views, next: start + limit < all.length ? String(start + limit) : null }
}

function matches(view: SandboxView, { template }: Filter): boolean {
  return template === null || view.template === template || markOf(view)?.template === template
}

function filterOf(query: URLSearchParams): Filter {
  const startedAfter = query.get('startedAfter')
  const after = startedAfter === null ? 0 : Date.parse(startedAfter)
  if (Number.isNaN(after)) throw new HearthError('invalid_request', 'startedAfter: must be a time')
  const template = query.get('template')
  if (template?.includes(':') === true && !template.includes('/')) {
    throw new HearthError('invalid_request', 'template: must not have a tag')
  }
  return { states: statesOf(query), metadata: metadataOf(query.get('metadata') ?? ''), template, startedAfter: after }
}

function statesOf(query: URLSearchParams): readonly SandboxState[] {
  const names = query.getAll('state').flatMap((value) => value.split(','))
  if (names.length === 0) return [...RUNNING_STATES, ...PAUSED_STATES]
  return names.flatMap((name) => {
    if (name === 'running') return RUNNING_STATES
    if (name === 'paused') return PAUSED_STATES
    throw new HearthError('invalid_request', 'state: must be running or paused')
  })
}

/** Clients encode the pairs, then the whole, and then the query does so once more. */
function metadataOf(text: string): Record<string, string> {
  try {
    const pairs = decodeURIComponent(text)
      .split('&')
      .filter((pair) => pair !== '')
      .map((pair) => {
        const [key = '', ...value] = pair.split('=')
        return [decodeURIComponent(key), decodeURIComponent(value.join('='))]
      })
    return Object.fromEntries(pairs) as Record<string, string>
  } catch {
    throw new HearthError('invalid_request', 'metadata: is not encoded as it should be')
  }
}
