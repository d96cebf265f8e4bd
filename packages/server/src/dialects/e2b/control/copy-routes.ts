import { BOUNDS, HearthError, type SnapshotInfo } from '@hearth/contract'
import { z } from 'zod'
import { fromE2bId } from '../ids.ts'
import { MARK_KEY, markOf, writeMark } from '../mark.ts'
import type { Answer, Call, Route } from './call.ts'
import { timeoutSchema } from './create.ts'
import type { NoteKind, TemplateBuild } from '../../../state/index.ts'
import { isThere } from '../builds/tag-routes.ts'
import { DEFAULT_TAG, parseTemplateName, requireTemplateName } from '../../builds/template-name.ts'
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
  const { children, memory } = await plane.copies.fork(caller, call.sandboxId, request, keyed)
  const kinds: readonly NoteKind[] = memory ? ['e2b.file', 'e2b.process', 'e2b.context'] : ['e2b.file']
  for (const { id } of children) await e2b.notes.copy(call.sandboxId, id, kinds)
  for (const view of children) e2b.pauses.watch(caller.tenantId, view)
  return { status: 201, json: children.map((view) => ({ sandbox: reachableSandbox(e2b, caller, view) })) }
}

/** A name that is taken moves to the new one; what it led to before stays under its identifier. */
async function takeSnapshot(call: Call): Promise<Answer> {
  const { name } = await call.body(z.object({ name: z.string().max(128).nullish() }))
  const wanted = name ? requireTemplateName(name) : null
  const keyed = { idempotencyKey: null, signal: call.operation.signal }
  const { id } = await call.plane.copies.snapshot(call.caller, call.sandboxId, {}, keyed)
  if (wanted === null) return { status: 201, json: { snapshotID: id, names: [] } }
  const tag = wanted.tag ?? DEFAULT_TAG
  try {
    await call.e2b.builds.adopt(call.caller, wanted.name, tag, id)
  } catch (error) {
    await call.plane.snapshots.remove(call.caller, id)
    throw error
  }
  return { status: 201, json: { snapshotID: id, names: [reference(wanted.name, tag)] } }
}

async function listSnapshots(call: Call): Promise<Answer> {
  const limit = call.integer('limit', 1, 100) ?? 100
  const sandbox = call.query.get('sandboxID')
  const name = call.query.get('name')
  const of = sandbox === null ? null : fromE2bId(sandbox)
  const found: (SnapshotInfo & { readonly names: readonly string[] })[] = []
  // What became of builds are templates.
  const built = new Set((await call.e2b.builds.list(call.caller)).map(({ snapshotId }) => snapshotId))
  const adopted = await call.e2b.builds.adopted(call.caller)
  let cursor = call.query.get('nextToken') || null
  do {
    const page = await call.plane.snapshots.list(call.caller, { limit: limit - found.length, cursor })
    const named = page.items.map((item) => ({ ...item, names: namesOf(item, adopted) }))
    found.push(
      ...named.filter(
        (item) =>
          !built.has(item.id) && (of === null || item.sandbox === of) && (name === null || isNamed(item.names, name)),
      ),
    )
    cursor = page.next
  } while (cursor !== null && found.length < limit)
  return {
    status: 200,
    json: found.map(({ id, names }) => ({ snapshotID: id, names })),
    headers: cursor === null ? {} : { 'x-next-token': cursor },
  }
}

/** A snapshot, a template that was built with all its tags, or one of the tags. */
async function deleteSnapshot(call: Call): Promise<Answer> {
  const id = call.parameter('template')
  const parsed = parseTemplateName(id)
  if (parsed === null) throw new HearthError('snapshot_not_found', `template '${id.slice(0, 128)}' not found`)
  const { builds } = call.e2b
  const isMeant = (tag: string): boolean => parsed.tag === null || tag === parsed.tag
  const led = (await builds.named(call.caller, parsed.name)).filter(
    (build) => isThere(build) && build.tags.some(isMeant),
  )
  if (led.length === 0) await call.plane.snapshots.remove(call.caller, snapshotOf(id) ?? id)
  for (const { adopted, snapshotId, tags } of led) {
    // A snapshot goes with its last name, or stays as it is while a sandbox of it lives; a build waits for that without a name.
    if (adopted && snapshotId !== null && tags.every(isMeant))
      await call.plane.snapshots.remove(call.caller, snapshotId)
    else await builds.unassign(call.caller, parsed.name, tags.filter(isMeant))
  }
  return { status: 204 }
}

/** What leads to a snapshot: names and tags that were given here, or its name in the native API. */
function namesOf({ id, name }: SnapshotInfo, adopted: readonly TemplateBuild[]): string[] {
  const own = adopted.filter(({ snapshotId }) => snapshotId === id)
  const names = own.flatMap((build) => build.tags.map((tag) => reference(build.name, tag)))
  return [...new Set([...(name === null ? [] : [name]), ...names])]
}

function reference(name: string, tag: string): string {
  return tag === DEFAULT_TAG ? name : `${name}:${tag}`
}

/** Without a tag any of the name is meant. */
function isNamed(names: readonly string[], wanted: string): boolean {
  const parsed = parseTemplateName(wanted)
  if (parsed === null) return false
  const { name, tag } = parsed
  return names.some((each) => (tag === null ? each.split(':')[0] === name : each === reference(name, tag)))
}
