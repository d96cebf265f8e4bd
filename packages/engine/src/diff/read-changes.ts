import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { HearthError } from '@hearth/contract'
import { assertNotAborted } from '../link/abort.ts'
import { boundRecords } from './bound-records.ts'
import { DIFF_LIMITS, type DiffLimits } from './diff-limits.ts'
import { readRecords, type StreamPart } from './record-stream.ts'
import { UPPER, type TreeSide } from './tree-side.ts'

export interface ChangesRequest {
  readonly guest: string
  readonly before: TreeSide
  readonly after: TreeSide
  /**
   * `user` for overlays that were mounted without privileges. SAFETY: a sandbox can set the attributes of the other kind. `none` for plain
   * trees, in which nothing hides anything.
   */
  readonly attributes: 'trusted' | 'user' | 'none'
  /** Paths of records: those alone, or with everything below them. Null for all. */
  readonly chosen?: { readonly paths: readonly string[]; readonly deep: boolean } | null
  /** Content of added and changed files up to this size goes along. */
  readonly contentBytes?: number
  readonly limits?: Partial<DiffLimits>
  readonly signal?: AbortSignal | undefined
}

/** The differences of two states, in the order of a walk: a directory is followed by what is in it. */
export async function* readChanges(request: ChangesRequest): AsyncGenerator<StreamPart, void> {
  const { chosen = null } = request
  assertNotAborted(request.signal)
  if (chosen !== null && chosen.paths.length === 0) return
  const child = spawn(request.guest, ['changes', ...words(request)], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] })
  const ended = Promise.withResolvers<string | null>()
  child.once('error', (error) => ended.resolve(error.message))
  child.once('close', (code) => ended.resolve(code === 0 ? null : `it ended with ${code}`))
  const said = collectText(child.stderr)
  const stop = (): void => void child.kill('SIGKILL')
  request.signal?.addEventListener('abort', stop, { once: true })
  // It may end before it has read the paths; why is known by how it ends.
  child.stdin.on('error', stop)
  child.stdin.end(chosenText(chosen))
  try {
    yield* boundRecords(readRecords(child.stdout), { ...DIFF_LIMITS, ...request.limits })
  } catch (error) {
    stop()
    const problem = await ended.promise
    if (request.signal?.aborted === true) throw new HearthError('aborted', 'the comparison was given up')
    if (problem === null || !isCutOff(error)) throw error
    throw new HearthError('internal', `changes: ${problem}: ${await said}`, { cause: error })
  } finally {
    stop()
    request.signal?.removeEventListener('abort', stop)
    await ended.promise
  }
}

function words({ before, after, attributes, contentBytes, limits }: ChangesRequest): string[] {
  const bounds = { ...DIFF_LIMITS, ...limits }
  const content =
    contentBytes === undefined ? [] : [`content-file=${contentBytes}`, `content-all=${bounds.contentBytes}`]
  const send =
    before.subvolume === null || after.subvolume === null
      ? []
      : [
          `send-before=${before.subvolume}`,
          `send-after=${after.subvolume}`,
          `prefix=${attributes === 'none' ? '' : UPPER}`,
        ]
  return [
    ...before.layers.map((layer) => `before=${layer}`),
    ...after.layers.map((layer) => `after=${layer}`),
    ...send,
    ...content,
    `attributes=${attributes}`,
    `changes=${bounds.changes}`,
    `entries=${bounds.entries}`,
    `compare-file=${bounds.compareFileBytes}`,
    `compare-all=${bounds.compareBytes}`,
  ]
}

function chosenText(chosen: ChangesRequest['chosen'] | null): Buffer {
  if (chosen === null || chosen === undefined) return Buffer.alloc(0)
  const mark = chosen.deep ? '+' : '='
  return Buffer.from(chosen.paths.map((path) => `${mark}${path}\0`).join(''), 'latin1')
}

/** The program's own failure explains a stream that ends early, and nothing else. */
function isCutOff(error: unknown): boolean {
  return HearthError.isInstance(error) && error.code === 'protocol_violation'
}

const DIAGNOSTICS = 4096

async function collectText(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) if (text.length < DIAGNOSTICS) text += String(chunk)
  return text.slice(0, DIAGNOSTICS).trim()
}
