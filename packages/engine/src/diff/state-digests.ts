import { createHash, type Hash } from 'node:crypto'
import type { ChangeRecord } from './change-record.ts'
import type { RootState } from './root-state.ts'

/** What is at each of these paths, in a form that is equal when everything but times is. Nothing for those where nothing is. */
export async function stateDigests(
  root: RootState,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, string>> {
  const digests = new Map<string, string>()
  let current: { readonly path: string; readonly hash: Hash } | null = null
  const finish = (): void => {
    if (current !== null) digests.set(current.path, current.hash.digest('hex'))
  }
  for await (const part of root.read(paths, true, signal)) {
    if (part.kind === 'content') current?.hash.update(part.bytes)
    else {
      finish()
      current = { path: part.record.path, hash: createHash('sha256').update(attributes(part.record)) }
    }
  }
  finish()
  return digests
}

function attributes({ type, mode, uid, gid, size, target }: ChangeRecord): string {
  const isLink = type === 'symlink'
  return JSON.stringify([type, isLink ? 0 : mode, uid, gid, type === 'file' ? size : 0, target])
}
