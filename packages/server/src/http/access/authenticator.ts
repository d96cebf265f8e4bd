import type { IncomingMessage } from 'node:http'
import { HearthError, OWN_HEARTH_KEY, type SandboxId, type Scope } from '@hearth/contract'
import type { Caller } from '../../control-plane.ts'
import type { ApiKey } from '../../state/index.ts'
import type { HttpLimits } from '../limits.ts'
import type { Operation } from '../operation.ts'
import type { InsideConnections } from './inside.ts'
import { KeyCache, type KeySource } from './key-cache.ts'
import { effectiveScopes } from './scopes.ts'
import { TokenBuckets } from './token-bucket.ts'

/** Finds out who calls, once per call, and holds each key to its rate. */
export class Authenticator {
  readonly keys: KeyCache
  readonly #limits: HttpLimits
  readonly #inside: InsideConnections
  readonly #requests: TokenBuckets
  readonly #wrongKeys: TokenBuckets
  readonly #underWay = new Map<string, number>()
  readonly #scopes = new WeakMap<ApiKey, ReadonlySet<Scope>>()

  constructor(keys: KeySource, limits: HttpLimits, inside: InsideConnections) {
    this.keys = new KeyCache(keys)
    this.#limits = limits
    this.#inside = inside
    this.#requests = new TokenBuckets(limits.requestsPerSecond, limits.requestBurst)
    this.#wrongKeys = new TokenBuckets(limits.wrongKeysPerSecond, limits.wrongKeyBurst)
  }

  /** The key that a token stands for. Who has sent many wrong ones is not looked up any more for a while. */
  async verify(token: string, incoming: IncomingMessage): Promise<ApiKey> {
    const sandbox = this.#inside.sandboxOf(incoming)
    if (sandbox !== null) return await this.guarded(incoming, () => this.#keyInside(token, sandbox))
    const known = this.keys.known(token)
    if (known !== null) return known
    return await this.guarded(incoming, () => this.keys.verify(token))
  }

  /** The key of the sandbox that speaks. Whatever other key it may have got hold of is of no use there. */
  async #keyInside(token: string, sandbox: SandboxId): Promise<ApiKey> {
    const key = token === OWN_HEARTH_KEY ? await this.keys.ofSandbox(sandbox) : null
    if (key !== null) return key
    const message =
      token === OWN_HEARTH_KEY ? 'the key of this sandbox does not work any more' : 'a sandbox has its own key alone'
    throw new HearthError('unauthorized', message, {
      suggestion: 'From inside a sandbox send the value of `HEARTH_API_KEY` as it is.',
    })
  }

  /** For every proof that could be guessed: an address that sends many wrong ones is not looked at for a while. */
  async guarded<T>(incoming: IncomingMessage, check: () => Promise<T>): Promise<T> {
    const address = this.#inside.sandboxOf(incoming) ?? incoming.socket.remoteAddress ?? ''
    const waitMs = this.#wrongKeys.wait(address)
    if (waitMs > 0) throw rateLimited('too many wrong keys from this address', waitMs)
    try {
      return await check()
    } catch (error) {
      if (HearthError.isInstance(error) && error.code === 'unauthorized') this.#wrongKeys.take(address)
      throw error
    }
  }

  caller(key: ApiKey, operation: Operation): Caller {
    let scopes = this.#scopes.get(key)
    if (scopes === undefined) {
      scopes = effectiveScopes(key.scopes)
      this.#scopes.set(key, scopes)
    }
    return this.admit(callerOf(key, scopes, operation), operation)
  }

  /** Counts the call against the limits of its key until the operation ends. */
  admit(caller: Caller, operation: Operation): Caller {
    const { keyId } = caller
    operation.tenantId = caller.tenantId
    operation.keyId = keyId
    const waitMs = this.#requests.take(keyId)
    if (waitMs > 0) throw rateLimited('this key sends too many requests', waitMs)
    const underWay = this.#underWay.get(keyId) ?? 0
    if (underWay >= this.#limits.concurrentRequests) {
      throw new HearthError('too_many', `this key has ${underWay} calls under way, which is the most that it may have`)
    }
    this.#underWay.set(keyId, underWay + 1)
    operation.onEnd(() => this.#release(keyId))
    return caller
  }

  #release(keyId: string): void {
    const left = (this.#underWay.get(keyId) ?? 1) - 1
    if (left === 0) this.#underWay.delete(keyId)
    else this.#underWay.set(keyId, left)
  }
}

/** Who has a key, or something that was made with it. */
export function callerOf(key: ApiKey, scopes: ReadonlySet<Scope>, { requestId }: Pick<Operation, 'requestId'>): Caller {
  const { id: keyId, tenantId, grant, path } = key
  return { tenantId, keyId, scopes, requestId, holder: grant === null || path === null ? null : { grant, path } }
}

/** Other vendors' APIs know no grants. */
export function requireUndelegated(key: ApiKey): ApiKey {
  if (key.grant === null) return key
  throw new HearthError('forbidden', 'a key that was delegated works with the native API alone', {
    suggestion: 'Use a client of Hearth itself with this key, or another key here.',
  })
}

function rateLimited(message: string, retryAfterMs: number): HearthError {
  return new HearthError('rate_limited', message, { context: { retryAfterMs } })
}
