import { isDeepStrictEqual } from 'node:util'
import { nameMatches, type Secret } from '@hearth/contract'
import { pathMatches, plainPath } from '../policy/path-pattern.ts'
import { newPlaceholder } from './placeholder.ts'
import { PlaceholderWatch } from './placeholder-watch.ts'
import { Scrubber } from './scrubber.ts'
import { SearchTime } from './search-time.ts'

export interface SandboxSecret extends Secret {
  readonly placeholder: string
}

/** Values that were replaced while the sandbox ran, and are scrubbed nevertheless: a server may still have them. */
const MOST_RETIRED = 64

/** The secrets that one sandbox may use, each behind a placeholder that is this sandbox's own. */
export class SandboxSecrets {
  #all: readonly SandboxSecret[]
  #retired: readonly SandboxSecret[] = []
  /** What searching for all of them takes. */
  readonly time = new SearchTime()
  #scrubber: Scrubber
  #watch: PlaceholderWatch

  /** `kept`: placeholders that the sandbox has already, by the names of their secrets. */
  constructor(secrets: readonly Secret[], kept: ReadonlyMap<string, string> = new Map()) {
    this.#all = secrets.map((secret) => ({
      ...secret,
      placeholder: kept.get(secret.name) ?? newPlaceholder(secret.value),
    }))
    this.#scrubber = new Scrubber(this.#all, this.time)
    this.#watch = new PlaceholderWatch(this.#all, this.time)
  }

  get all(): readonly SandboxSecret[] {
    return this.#all
  }

  get scrubber(): Scrubber {
    return this.#scrubber
  }

  get watch(): PlaceholderWatch {
    return this.#watch
  }

  /** From now on they have these values and bindings; their placeholders stay. Gives those that are not what they were. */
  replace(secrets: readonly Secret[]): readonly SandboxSecret[] {
    const current = new Map(secrets.map((secret) => [secret.name, secret]))
    const before = this.#all
    this.#all = before.map((secret) => ({ ...secret, ...current.get(secret.name) }))
    const changed = before.filter((secret, index) => !isDeepStrictEqual(secret, this.#all[index]))
    this.#retired = [...this.#retired, ...changed].slice(-MOST_RETIRED)
    this.#scrubber = new Scrubber([...this.#all, ...this.#retired], this.time)
    this.#watch = new PlaceholderWatch(this.#all, this.time)
    return changed
  }

  get placeholders(): Record<string, string> {
    return Object.fromEntries(this.all.map(({ name, placeholder }) => [name, placeholder]))
  }

  get empty(): boolean {
    return this.all.length === 0
  }

  /** Whether anything is bound to the name. */
  boundTo(name: string): boolean {
    return this.all.some(({ binding }) => nameMatches(binding.name, name))
  }

  /** Those that may be put into a request. */
  usableIn(name: string, method: string, target: string): SandboxSecret[] {
    const path = plainPath(target)
    return this.all.filter(
      ({ binding }) =>
        nameMatches(binding.name, name) &&
        (binding.methods === undefined || binding.methods.some((allowed) => allowed === method)) &&
        (binding.paths === undefined ||
          (path !== null && binding.paths.some((pattern) => pathMatches(pattern, path)))) &&
        (binding.branches === undefined || (path !== null && isGitRequest(method, path))),
    )
  }
}

/** What git asks of a server. A secret whose pushes are limited is good for nothing else, since there are other ways to change a branch. */
function isGitRequest(method: string, path: string): boolean {
  if (method === 'GET') return path.endsWith('/info/refs')
  return method === 'POST' && (path.endsWith('/git-upload-pack') || path.endsWith('/git-receive-pack'))
}
