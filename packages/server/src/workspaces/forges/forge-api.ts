import type { ForgePlace } from './forge.ts'

export interface PullRequestWish {
  readonly branch: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
}

export interface FoundPullRequest {
  readonly number: number
  readonly url: string
}

/** What differs between forges. */
export interface ForgeApi {
  headers(token: string): Readonly<Record<string, string>>
  /** Lists those that are open for the branch. */
  find(place: ForgePlace, wish: PullRequestWish): URL
  create(place: ForgePlace): URL
  body(wish: PullRequestWish): Readonly<Record<string, unknown>>
  /** A refusal that may mean that there is one already. */
  exists(status: number): boolean
  /** Null for something else. */
  read(value: unknown): FoundPullRequest | null
}
