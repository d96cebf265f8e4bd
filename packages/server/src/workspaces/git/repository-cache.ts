import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BOUNDS, HearthError } from '@hearth/contract'
import { ensureBareRepository, git } from '@hearth/engine/git'
import { remoteFailure } from './git-failure.ts'
import { reachOf, type ReachOptions } from './remote-reach.ts'
import type { Remote } from './remote.ts'
import { SizeGuard, directoryBytes } from './size-guard.ts'

/** What the remote has, in a place of its own: nothing of it is ever taken for a branch of this repository. */
const REMOTE = 'refs/hearth/remote'
const COMMIT = /^[0-9a-f]{40}$/

export interface RemoteAccess extends Omit<ReachOptions, 'ownersFile'> {
  readonly remote: Remote
  readonly signal?: AbortSignal
}

export interface Fetched {
  /** Null for an empty repository. */
  readonly defaultBranch: string | null
  readonly bytes: number
}

/** A bare repository of the host that holds what a remote has, and the commits that are made here. No sandbox ever reaches it. */
export class RepositoryCache {
  readonly directory: string
  readonly #ownersFile: string

  constructor(directory: string) {
    this.directory = join(directory, 'cache.git')
    this.#ownersFile = join(directory, 'owners')
  }

  /** Brings it up to date with all branches and tags of the remote; what is gone there is gone here. */
  async fetch(access: RemoteAccess): Promise<Fetched> {
    await mkdir(join(this.directory, '..'), { recursive: true, mode: 0o700 })
    await ensureBareRepository(this.directory)
    const specs = ['heads', 'tags'].map((kind) => `+refs/${kind}/*:${REMOTE}/${kind}/*`)
    const options = [
      '--prune',
      '--no-tags',
      '--no-write-fetch-head',
      '--no-auto-maintenance',
      '--no-recurse-submodules',
    ]
    await using guard = new SizeGuard(this.directory, BOUNDS.repositoryBytes, access.signal)
    const bounded = { ...access, signal: guard.signal }
    const asked = ['ls-remote', '--symref', '--', access.remote.address, 'HEAD']
    const head = await this.speak(bounded, asked, BOUNDS.repositoryAnswerMs)
    await this.speak(bounded, ['fetch', '--quiet', ...options, '--', access.remote.address, ...specs])
    const bytes = await directoryBytes(this.directory)
    if (bytes > BOUNDS.repositoryBytes) throw guard.tooLarge()
    return { defaultBranch: /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(head.toString())?.[1] ?? null, bytes }
  }

  /** The commit that a branch, a tag or a commit identifier leads to; null where there is none. */
  async resolve(revision: string): Promise<string | null> {
    const names = [`${REMOTE}/heads/${revision}`, `${REMOTE}/tags/${revision}`]
    if (COMMIT.test(revision)) names.unshift(revision)
    for (const name of names) {
      const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
      const found = (await git(args, { directory: this.directory, accept: [0, 1, 128] })).toString().trim()
      if (COMMIT.test(found)) return found
    }
    return null
  }

  /** Sends a commit to a branch of the remote. */
  async push(access: RemoteAccess, commit: string, branch: string, force: boolean): Promise<void> {
    const spec = `${force ? '+' : ''}${commit}:refs/heads/${branch}`
    await this.speak(access, ['push', '--no-verify', '--', access.remote.address, spec])
  }

  /** A call of git that may speak to the remote. */
  async speak(
    access: RemoteAccess,
    args: readonly string[],
    timeoutMs: number = BOUNDS.repositoryTransferMs,
  ): Promise<Buffer> {
    const { remote, signal } = access
    if (remote.protocol === 'file') await writeFile(this.#ownersFile, '[safe]\n\tdirectory = *\n', { mode: 0o600 })
    await using reach = await reachOf(remote, { ...access, ownersFile: this.#ownersFile })
    const bounds = { timeoutMs, memoryBytes: BOUNDS.repositoryMemoryBytes }
    const call = { directory: this.directory, reach, failure: remoteFailure(remote), ...bounds }
    try {
      const said = await git(args, { ...call, ...(signal ? { signal } : {}) })
      await reach.settle()
      return said
    } catch (error) {
      if (!HearthError.isInstance(error) || error.code !== 'timeout') throw error
      throw new HearthError('repository_unreachable', `${remote.address}: it took too long`, { cause: error })
    }
  }
}
