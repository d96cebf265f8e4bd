import type {
  DiffOptions,
  FileChange,
  FileChangeView,
  ForkOptions,
  ForkView,
  LineageView,
  MergeOptions,
  MergeResult,
  MergeView,
  SandboxId,
  SandboxState,
  SnapshotId,
  SnapshotInfo,
  SnapshotOptions,
  SnapshotView,
} from '@hearth/contract'
import { checkedId, itemsOf } from '../checks.ts'
import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { keyedCall } from '../transport/calls.ts'
import { unlessGivenUp } from '../transport/given-up.ts'
import type { Call, CallOptions } from '../transport/http-client.ts'
import { fileChange, snapshotInfo } from './snapshot-views.ts'

/** What calls that must not be done twice take besides. */
export interface KeyedOptions extends CallOptions {
  /** The same key with the same request gives the same answer. Default: one of its own for each call. */
  readonly idempotencyKey?: string
}

/** A sandbox among those that it is related to. */
export interface Relative {
  readonly id: SandboxId
  /** The sandbox that it was forked of. */
  readonly parent: SandboxId | null
  /** The snapshot that it was made of, or the point at which it was forked. */
  readonly origin: SnapshotId | null
  /** `deleted` is one that has gone while forks of it live. */
  readonly state: SandboxState
  readonly createdAt: Date
  readonly metadata: Readonly<Record<string, string>>
}

/** Repeated safely when the connection breaks: the key makes that one snapshot. */
export async function takeSnapshot(
  client: SandboxClient,
  { signal, idempotencyKey, ...options }: SnapshotOptions & KeyedOptions,
): Promise<SnapshotInfo> {
  const call = { method: 'POST', path: '/snapshots', json: options, ...keyedCall(idempotencyKey) } as const
  const remove = ({ id }: SnapshotView): Promise<void> => removeBelow(client, `/snapshots/${checkedId(id)}`)
  return snapshotInfo(await keptOrRemoved<SnapshotView>(client, call, { signal, idempotencyKey }, remove))
}

/** As `takeSnapshot`. */
export async function forkSandbox(
  client: SandboxClient,
  count: number,
  { signal, idempotencyKey, ...options }: ForkOptions & KeyedOptions,
): Promise<ForkView> {
  const json = { ...options, count }
  const call = { method: 'POST', path: '/fork', json, ...keyedCall(idempotencyKey) } as const
  const remove = async ({ children }: ForkView): Promise<void> => {
    await Promise.all(children.map(({ id }) => removeBelow(client, `/sandboxes/${checkedId(id)}`)))
  }
  const view = await keptOrRemoved<ForkView>(client, call, { signal, idempotencyKey }, remove)
  if (Array.isArray(view?.children)) return view
  throw new HearthError('protocol_violation', 'the server answered something else than the children of a fork')
}

/** The caller of a key comes back for what it made. */
async function keptOrRemoved<View>(
  client: SandboxClient,
  call: Call,
  { signal, idempotencyKey }: { readonly signal: AbortSignal | undefined; readonly idempotencyKey: string | undefined },
  remove: (view: View) => Promise<void>,
): Promise<View> {
  if (idempotencyKey !== undefined) return await client.json<View>({ ...call, signal })
  return await unlessGivenUp(signal, () => client.json<View>(call), remove)
}

async function removeBelow({ connection }: SandboxClient, path: string): Promise<void> {
  await connection.http.done({ method: 'DELETE', path })
}

export async function diffSandbox(client: SandboxClient, options: DiffOptions): Promise<FileChange[]> {
  const { since, paths, contentBytes, signal } = options
  const query = { since, path: paths, contentBytes }
  const body = await client.json({ method: 'GET', path: '/diff', query, signal, timeoutMs: null })
  return itemsOf<FileChangeView>(body).map(fileChange)
}

export async function mergeSandbox(
  client: SandboxClient,
  child: string,
  { signal, paths }: MergeOptions,
): Promise<MergeResult> {
  const json = { child, paths }
  const view = await client.json<MergeView>({ method: 'POST', path: '/merge', json, signal, timeoutMs: null })
  return { applied: view.applied.map(fileChange), conflicts: view.conflicts }
}

export async function relativesOf(client: SandboxClient, { signal }: CallOptions): Promise<Relative[]> {
  const items = itemsOf<LineageView>(await client.json({ method: 'GET', path: '/tree', signal }))
  return items.map((view) => ({
    ...view,
    id: view.id as SandboxId,
    parent: view.parent as SandboxId | null,
    origin: view.origin as SnapshotId | null,
    createdAt: new Date(view.createdAt),
  }))
}
