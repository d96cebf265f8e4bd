import { hash } from 'node:crypto'
import { HearthError, type SandboxId } from '@hearth/contract'
import type { ApiKey, ApiKeyRepository } from '../../state/index.ts'

/** How long a revocation on another server may stay unseen here. One on this server is seen at once. */
const REMEMBERED_MS = 5000
const MOST_KEYS = 10_000

export type KeySource = Pick<ApiKeyRepository, 'verify' | 'find' | 'ofSandbox'>

interface Remembered {
  readonly key: ApiKey
  readonly until: number
}

/** Keys that were found valid a moment ago, so that not every call reads the database. Tokens themselves are not kept. */
export class KeyCache {
  readonly #keys: KeySource
  readonly #remembered = new Map<string, Remembered>()
  /** By the identifier of the key, or of the only sandbox that it works from. */
  readonly #alive = new Map<string, { readonly key: ApiKey | null; readonly until: number }>()
  readonly #underWay = new Map<string, Promise<ApiKey>>()

  constructor(keys: KeySource) {
    this.#keys = keys
  }

  /** What is known without asking the database; null for nothing. */
  known(token: string): ApiKey | null {
    const remembered = this.#remembered.get(nameOf(token))
    const now = Date.now()
    if (remembered === undefined || remembered.until <= now) return null
    const { expiresAt } = remembered.key
    return expiresAt !== null && expiresAt <= now ? null : remembered.key
  }

  /** The key, or `unauthorized`. Many calls at once with the same token ask the database once. */
  async verify(token: string): Promise<ApiKey> {
    const name = nameOf(token)
    const pending = this.#underWay.get(name)
    if (pending !== undefined) return await pending
    const asked = this.#keys.verify(token)
    this.#underWay.set(name, asked)
    try {
      const key = await asked
      // A revocation that came meanwhile has removed the entry: then the answer is for this call alone.
      if (this.#underWay.get(name) === asked) this.#remember(name, key)
      return key
    } finally {
      if (this.#underWay.get(name) === asked) this.#underWay.delete(name)
    }
  }

  /** A key by its identifier, for those who hold something that was made with it; null when it does not work any more. */
  async find(tenantId: string, keyId: string): Promise<ApiKey | null> {
    const now = Date.now()
    const known = this.#alive.get(keyId)
    if (known !== undefined && known.until > now && known.key?.tenantId === tenantId) return known.key
    const found = await this.#keys.find(tenantId, keyId)
    const alive = found !== null && found.revokedAt === null && (found.expiresAt ?? Infinity) > now
    return this.#rememberAlive(keyId, alive ? found : null)
  }

  /** The key that works from this sandbox alone; null when there is none, or not any more. */
  async ofSandbox(sandbox: SandboxId): Promise<ApiKey | null> {
    const known = this.#alive.get(sandbox)
    if (known !== undefined && known.until > Date.now()) return known.key
    return this.#rememberAlive(sandbox, await this.#keys.ofSandbox(sandbox))
  }

  #rememberAlive(by: string, key: ApiKey | null): ApiKey | null {
    if (this.#alive.size >= MOST_KEYS) this.#alive.clear()
    this.#alive.set(by, { key, until: Math.min(Date.now() + REMEMBERED_MS, key?.expiresAt ?? Infinity) })
    return key
  }

  /** After a revocation: all of them, since it ends the keys below the one too. */
  forget(): void {
    this.#remembered.clear()
    this.#underWay.clear()
    this.#alive.clear()
  }

  #remember(name: string, key: ApiKey): void {
    if (this.#remembered.size >= MOST_KEYS) this.#remembered.clear()
    this.#remembered.set(name, { key, until: Date.now() + REMEMBERED_MS })
  }
}

/** The place in a table of hashes says nothing about the secret: the time of a look-up depends on the hash alone. */
function nameOf(token: string): string {
  return hash('sha256', token, 'base64')
}

/** The token of `Authorization: Bearer`, or `unauthorized`. */
export function bearerToken(header: string | undefined): string {
  const token = /^Bearer +([\x21-\x7e]{1,256})$/i.exec(header ?? '')?.[1]
  if (token !== undefined) return token
  throw new HearthError(
    'unauthorized',
    header === undefined ? 'a key is needed' : 'the header Authorization has no key',
  )
}
