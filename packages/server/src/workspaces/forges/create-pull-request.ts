import type { Forge, ForgeKind } from '@hearth/contract'
import { Dialer } from '@hearth/engine/dial'
import { callForge, type ForgeAnswer, type ForgeCall } from './forge-call.ts'
import { forgeFailed, refusedBy } from './forge-failure.ts'
import type { ForgeApi, FoundPullRequest, PullRequestWish } from './forge-api.ts'
import { placeOf, type ForgePlace } from './forge.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'

const APIS: Readonly<Record<ForgeKind, ForgeApi>> = { github, gitlab }

export interface PullRequestOptions {
  /** Null: it is recognised by the host of the remote. */
  readonly forge: Forge | null
  readonly remoteUrl: string
  readonly token: string
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body?: string
  readonly draft?: boolean
  readonly signal: AbortSignal
  /** Networks that are not public and may be reached nevertheless. Default: none. */
  readonly networks?: readonly string[]
  readonly dialer?: Dialer
}

export interface CreatedPullRequest extends FoundPullRequest {
  readonly forge: ForgeKind
  /** False when there was an open one for this branch already. */
  readonly created: boolean
}

/**
 * Asks a forge to merge a branch. Idempotent: an open one for the branch is found and given, also one that was made since it was looked for.
 * SAFETY: the token goes to the API of the forge alone, and never into a message.
 */
export async function createPullRequest(options: PullRequestOptions): Promise<CreatedPullRequest> {
  const { token, branch, base, title, body = '', draft = false, signal, networks = [], dialer = new Dialer() } = options
  const place = placeOf(options.forge, options.remoteUrl)
  const wish = { branch, base, title, body, draft }
  const forge = new ForgeClient(place, token, (call) => callForge(call, { dialer, networks, signal }))
  const open = await forge.find(wish)
  if (open !== null) return { ...open, forge: place.kind, created: false }
  return { ...(await forge.create(wish)), forge: place.kind }
}

class ForgeClient {
  readonly #place: ForgePlace
  readonly #api: ForgeApi
  readonly #token: string
  readonly #call: (call: ForgeCall) => Promise<ForgeAnswer>

  constructor(place: ForgePlace, token: string, call: (call: ForgeCall) => Promise<ForgeAnswer>) {
    this.#place = place
    this.#api = APIS[place.kind]
    this.#token = token
    this.#call = call
  }

  async find(wish: PullRequestWish): Promise<FoundPullRequest | null> {
    const headers = this.#api.headers(this.#token)
    const answer = await this.#call({ method: 'GET', url: this.#api.find(this.#place, wish), headers })
    if (answer.status !== 200) throw refusedBy(answer, this.#token)
    if (!Array.isArray(answer.body)) throw forgeFailed('its answer is no list of pull requests')
    const [first] = answer.body as unknown[]
    return first === undefined ? null : this.#read(first)
  }

  async create(wish: PullRequestWish): Promise<FoundPullRequest & { readonly created: boolean }> {
    const call = { method: 'POST', url: this.#api.create(this.#place), json: this.#api.body(wish) } as const
    const answer = await this.#call({ ...call, headers: this.#api.headers(this.#token) })
    if (answer.status === 201) return { ...this.#read(answer.body), created: true }
    const other = this.#api.exists(answer.status) ? await this.find(wish) : null
    if (other === null) throw refusedBy(answer, this.#token)
    return { ...other, created: false }
  }

  #read(value: unknown): FoundPullRequest {
    const found = this.#api.read(value)
    if (found === null) throw forgeFailed('its answer is no pull request')
    return found
  }
}
