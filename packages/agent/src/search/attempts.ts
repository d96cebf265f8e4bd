import { HearthError, type Sandbox } from '@hearth/contract'
import type { ChangeTracker } from '../changes/change-tracker.ts'
import { Forks } from '../machines/forks.ts'
import { guard } from './guarded-paths.ts'
import type { Leases } from '../machines/leases.ts'
import { patchedTree, type PatchedTree } from './patched-tree.ts'
import type { Candidate, SearchOptions } from './search-types.ts'

const ATTEMPT_MS = 10 * 60_000
const OUTPUT_CHARACTERS = 2000

/** What a candidate came to: a change, or why there is none. */
export type Tried =
  | { readonly change: PatchedTree }
  | { readonly outcome: 'does_not_apply' | 'broken'; readonly detail: string }

/** Makes the changes, each in a fork of its own. */
export class Attempts {
  readonly #workdir: string
  readonly #isGuarded: (path: string) => boolean
  readonly #tracker: ChangeTracker
  readonly #commit: string
  readonly #forks: Forks
  readonly #base: Sandbox
  readonly #leases: Leases
  readonly #origins = new Map<Sandbox, Forks>()

  constructor(options: SearchOptions, tracker: ChangeTracker, commit: string, forks: Forks, leases: Leases) {
    this.#workdir = options.workdir
    this.#isGuarded = guard(options.protect ?? [])
    this.#tracker = tracker
    this.#commit = commit
    this.#forks = forks
    this.#base = options.base
    this.#leases = leases
  }

  async try(candidate: Candidate, signal: AbortSignal): Promise<Tried> {
    try {
      const patch = 'patch' in candidate ? Buffer.from(candidate.patch) : await this.#make(candidate, signal)
      return { change: await patchedTree(this.#tracker.directory, this.#commit, patch, this.#isGuarded) }
    } catch (error) {
      signal.throwIfAborted()
      const outcome = 'patch' in candidate ? 'does_not_apply' : 'broken'
      return { outcome, detail: error instanceof Error ? error.message : String(error) }
    }
  }

  async #make(candidate: Exclude<Candidate, { patch: unknown }>, signal: AbortSignal): Promise<Uint8Array> {
    const origin = 'attempt' in candidate ? (candidate.origin ?? this.#base) : this.#base
    return await this.#forksOf(origin).use(async (fork) => {
      const given =
        'attempt' in candidate
          ? await candidate.attempt(fork, {
              signal,
              state: { directory: this.#tracker.directory, commit: this.#commit },
            })
          : await this.#command(fork, candidate, signal)
      return given ?? (await this.#tracker.changes(this.#commit, fork, this.#workdir)).patch
    }, signal)
  }

  async #command(
    fork: Sandbox,
    candidate: Extract<Candidate, { command: string }>,
    signal: AbortSignal,
  ): Promise<undefined> {
    const timeoutMs = candidate.timeoutMs ?? Math.min(ATTEMPT_MS, fork.info.limits.wallTimeMs)
    const { exitCode, timedOut, output } = await fork.exec(candidate.command, {
      cwd: this.#workdir,
      timeoutMs,
      signal,
    })
    if (timedOut) throw new HearthError('timeout', `the command took longer than ${timeoutMs} ms`)
    if (exitCode === 0) return undefined
    throw new HearthError('invalid_request', `the command failed: ${output.slice(-OUTPUT_CHARACTERS)}`)
  }

  #forksOf(origin: Sandbox): Forks {
    if (origin === this.#base) return this.#forks
    const forks = this.#origins.get(origin) ?? new Forks(origin, this.#leases)
    this.#origins.set(origin, forks)
    return forks
  }
}
