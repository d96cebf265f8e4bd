import { type Hearth, HearthError, type SnapshotInfo } from '@hearth/sdk'

const WHOLE = /^sn_[0-9a-z]{20}$/
/** As for sandboxes. */
const SHORTEST_PART = 4
const PART = /^[0-9a-z]+$/

/** The snapshot that a person names: by its identifier, its name, or by so much of the identifier's beginning or end that only one fits. */
export async function findSnapshot(hearth: Hearth, name: string, signal?: AbortSignal): Promise<SnapshotInfo> {
  const options = signal === undefined ? {} : { signal }
  if (WHOLE.test(name)) return await hearth.snapshots.get(name, options)
  const all = await hearth.snapshots.list(options)
  // A name is never in doubt, also when it looks like a part of an identifier.
  const named = all.find((snapshot) => snapshot.name === name)
  if (named !== undefined) return named
  const found = all.filter(({ id }) => fits(id, name))
  const [only, ...others] = found
  if (only === undefined) throw notFound(name)
  if (others.length === 0) return only
  const shown = found.slice(0, 3).map(({ id }) => id)
  throw new HearthError('invalid_request', `${name} fits ${found.length} snapshots: ${shown.join(', ')}`, {
    suggestion: 'Give more of the identifier; its end is different for each.',
  })
}

function notFound(name: string): HearthError {
  return new HearthError('snapshot_not_found', `there is no snapshot ${JSON.stringify(name)}`, {
    suggestion: 'Give what `hearth snapshot ls` shows: a name, or at least 4 characters of an ID.',
  })
}

function fits(id: string, name: string): boolean {
  const part = name.replace(/^sn_/, '')
  if (!PART.test(part) || part.length < SHORTEST_PART) return false
  const own = id.slice('sn_'.length)
  return own.startsWith(part) || (!name.startsWith('sn_') && own.endsWith(part))
}
