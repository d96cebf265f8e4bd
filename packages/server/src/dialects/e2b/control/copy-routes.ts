import { BOUNDS, HearthError, type SnapshotInfo } from '@hearth/contract'
import { z } from 'zod'
import { fromE2bId } from '../ids.ts'
import { MARK_KEY, markOf, writeMark } from '../mark.ts'
import type { Answer, Call, Route } from './call.ts'
import { timeoutSchema } from './create.ts'
import { isThere } from '../builds/tag-routes.ts'
import { parseTemplateName } from '../../builds/template-name.ts'
import { snapshotOf } from './templates.ts'
import { PAUSED_MS, reachableSandbox } from './views.ts'

const DEFAULT_FORK_TIMEOUT = 15

const forkSchema = z.object({
  count: z.int().min(1).max(BOUNDS.children).nullish(),
  timeout: timeoutSchema.nullish(),
})

/** Forks and snapshots. */
export const COPY_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/sandboxes/{id}/fork', name: 'e2b.sandbox.fork', scope: 'sandbox:write', handle: fork },
  {
    method: 'POST',
    path: '/sandboxes/{id}/snapshots',
    name: 'e2b.sandbox.snapshot',
    scope: 'sandbox:write',
    handle: takeSnapshot,
  },
  { method: 'GET', path: '/snapshots', name: 'e2b.snapshot.list', scope: 'sandbox:read', handle: listSnapshots },
  {
    method: 'DELETE',
    path: '/templates/{template}',
    name: 'e2b.snapshot.delete',
    scope: 'sandbox:write',
    handle: deleteSnapshot,
  },
]

/** All of them run, or the call fails: there is no error of a single one. */
async function fork(call: Call): Promise<Answer> {
  const { count, timeout } = await call.body(forkSchema)
  const { caller, e2b, operation, plane } = call
  const seconds = Math.max(1, timeout ?? DEFAULT_FORK_TIMEOUT)
  const mark = markOf(await plane.get(caller, call.sandboxId))
  const later = mark?.autoPause === true ? PAUSED_MS : 0
  const metadata = mark === null ? {} : { [MARK_KEY]: writeMark({ ...mark, timeout: seconds }) }
  const request = { count: count ?? 1, ttlMs: seconds * 1000 + later, metadata }
  const keyed = { idempotencyKey: null, signal: operation.signal }
  const { children } = await plane.copies.fork(caller, call.sandboxId, request, keyed)
  for (const view of children) e2b.pauses.watch(caller.tenantId, view)
  return { status: 201, json: children.map((view) => ({ sandbox: reachableSandbox(e2b, caller, view) })) }
}

async function takeSnapshot(call: Call): Promise<Answer> {
  const { name } = await call.body(z.object({ name: z.string().max(128).nullish() }))
  const named = name ? { name: snapshotOf(name) ?? name } : {}
  const keyed = { idempotencyKey: null, signal: call.operation.signal }
  const taken = await call.plane.copies.snapshot(call.caller, call.sandboxId, named, keyed)
  return { status: 201, json: snapshotView(taken) }
}

async function listSnapshots(call: Call): Promise<Answer> {
  const limit = call.integer('limit', 1, 100) ?? 100
  const sandbox = call.query.get('sandboxID')
  const name = call.query.get('name')
  const of = sandbox === null ? null : fromE2bId(sandbox)
  const found: SnapshotInfo[] = []
  // What became of builds are templates.
  const built = new Set((await call.e2b.builds.list(call.caller)).map(({ snapshotId }) => snapshotId))
  let cursor = call.query.get('nextToken') || null
  do {
    const page = await call.plane.snapshots.list(call.caller, { limit: limit - found.length, cursor })
    found.push(
      ...page.items.filter(
        (item) =>
          !built.has(item.id) &&
          (of === null || item.sandbox === of) &&
          (name === null || item.name === snapshotOf(name)),
      ),
    )
    cursor = page.next
  } while (cursor !== null && found.length < limit)
  return {
    status: 200,
    json: found.map(snapshotView),
    headers: cursor === null ? {} : { 'x-next-token': cursor },
  }
}

/** A snapshot, a template that was built with all its tags, or one of the tags. */
async function deleteSnapshot(call: Call): Promise<Answer> {
  const id = call.parameter('template')
  const parsed = parseTemplateName(id)
  if (parsed === null) throw new HearthError('snapshot_not_found', `template '${id.slice(0, 128)}' not found`)
  const { builds } = call.e2b
  const tags = (await builds.list(call.caller, parsed.name)).filter(isThere).flatMap((build) => build.tags)
  const gone = tags.filter((tag) => parsed.tag === null || tag === parsed.tag)
  if (gone.length > 0) await builds.unassign(call.caller, parsed.name, gone)
  else await call.plane.snapshots.remove(call.caller, snapshotOf(id) ?? id)
  return { status: 204 }
}

/** Its identifier is the template that a sandbox is made of. */
function snapshotView({ id, name }: SnapshotInfo): { readonly snapshotID: string; readonly names: readonly string[] } {
  return { snapshotID: id, names: name === null ? [] : [name] }
}
