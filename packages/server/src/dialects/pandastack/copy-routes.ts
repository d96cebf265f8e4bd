import { BOUNDS, HearthError, newId, type SandboxView, type SnapshotInfo } from '@hearth/contract'
import { z } from 'zod'
import { choosesRung, requireSameRung } from '../rung-choice.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'
import { sandboxView, snapshotView, TREE_KEY, withoutSecrets } from './views.ts'

const PAGE = 100
const MOST_CHILDREN = 16
/** The entry of the metadata with which `explore` says how long its branches may live, in seconds. */
const TTL_KEY = 'explore_ttl'
const forkSchema = z.object({
  count: z.int().min(1).max(MOST_CHILDREN).nullish(),
  metadata: z.record(z.string().max(64), z.string().max(1024)).nullish(),
})
const promoteSchema = z.object({ cleanup_siblings: z.boolean().nullish(), tree_id: z.string().max(64).nullish() })

/** Forks and snapshots. */
export const COPY_ROUTES: readonly Route[] = routes('copies', {
  'POST /sandboxes/{id}/fork': ['sandbox:write', (call) => fork(call, 1)],
  'POST /sandboxes/{id}/fork-tree': ['sandbox:write', (call) => fork(call, 2)],
  'POST /sandboxes/{id}/promote': ['sandbox:write', promote],
  'POST /sandboxes/{id}/snapshots': ['sandbox:write', takeSnapshot],
  'GET /snapshots': ['sandbox:read', listSnapshots],
  'GET /snapshots/{snapshot}': ['sandbox:read', getSnapshot],
  'DELETE /snapshots/{snapshot}': ['sandbox:write', removeSnapshot],
})

/** All of them, or an error and none; each says of which tree it is. */
async function fork(call: Call, usual: number): Promise<Answer> {
  const { count, metadata } = await call.body(forkSchema)
  await requireRung(call, metadata ?? {})
  const tree = newId('tree')
  const seconds = secondsOf(metadata?.[TTL_KEY])
  const lifetime = seconds === null ? {} : { ttlMs: Math.max(1000, seconds * 1000) }
  const request = { count: count ?? usual, metadata: { ...metadata, [TREE_KEY]: tree }, ...lifetime }
  const { children } = await call.plane.copies.fork(call.caller, call.sandboxId, request, call.keyed)
  const views = children.map((child) => withoutSecrets(sandboxView(child)))
  const [first] = children
  return {
    status: 201,
    json: {
      tree_id: tree,
      parent_id: call.sandboxId,
      snapshot_id: first?.origin ?? '',
      children: views,
      // A client that asked for one takes it from here.
      ...(usual === 1 ? { sandbox: views[0] } : {}),
      at: new Date().toISOString(),
    },
  }
}

async function requireRung(call: Call, metadata: Readonly<Record<string, string>>): Promise<void> {
  if (!choosesRung(metadata)) return
  requireSameRung(metadata, (await call.plane.get(call.caller, call.sandboxId)).rung)
}

/** Null for none, and for what is none. */
function secondsOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Math.min(Number(text), BOUNDS.maximumTtlMs / 1000) : null
}

/** A fork is independent from the first moment: what is left to do is to remove its siblings. */
async function promote(call: Call): Promise<Answer> {
  const { cleanup_siblings, tree_id } = await call.body(promoteSchema)
  const winner = await call.plane.get(call.caller, call.sandboxId)
  const tree = tree_id ?? winner.metadata[TREE_KEY] ?? ''
  const deleted: string[] = []
  const failures: Record<string, string> = {}
  if (cleanup_siblings === true && tree !== '') {
    for (const sibling of await siblingsOf(call, tree)) {
      if (sibling.id === winner.id) continue
      try {
        await call.plane.delete(call.caller, sibling.id)
        deleted.push(sibling.id)
      } catch (error) {
        if (!HearthError.isInstance(error)) throw error
        failures[sibling.id] = error.message
      }
    }
  }
  return { status: 200, json: { winner: winner.id, tree_id: tree, deleted, failures } }
}

async function siblingsOf(call: Call, tree: string): Promise<readonly SandboxView[]> {
  const query = { limit: PAGE, cursor: null, state: null, rung: null, metadata: { [TREE_KEY]: tree } }
  return (await call.plane.list(call.caller, query)).items
}

async function takeSnapshot(call: Call): Promise<Answer> {
  return {
    status: 201,
    json: snapshotView(await call.plane.copies.snapshot(call.caller, call.sandboxId, {}, call.keyed)),
  }
}

async function listSnapshots(call: Call): Promise<Answer> {
  const of = call.query('sandbox_id')
  const found: SnapshotInfo[] = []
  // What became of builds are templates.
  const built = new Set((await call.builds.list(call.caller)).map(({ snapshotId }) => snapshotId))
  let cursor: string | null = null
  do {
    const page: { readonly items: readonly SnapshotInfo[]; readonly next: string | null } =
      await call.plane.snapshots.list(call.caller, { limit: PAGE, cursor })
    found.push(...page.items.filter(({ id, sandbox }) => !built.has(id) && (of === null || sandbox === of)))
    cursor = page.next
  } while (cursor !== null)
  return { status: 200, json: { snapshots: found.map(snapshotView) } }
}

async function getSnapshot(call: Call): Promise<Answer> {
  return { status: 200, json: snapshotView(await call.plane.snapshots.get(call.caller, call.parameter('snapshot'))) }
}

async function removeSnapshot(call: Call): Promise<Answer> {
  const id = call.parameter('snapshot')
  await call.plane.snapshots.remove(call.caller, id)
  return { status: 200, json: { deleted: id } }
}
