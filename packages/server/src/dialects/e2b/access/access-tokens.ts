import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { SandboxId } from '@hearth/contract'

/** Whom a token speaks for: one sandbox, with what the key that it was given to may do. */
export interface Grant {
  readonly sandbox: SandboxId
  readonly tenantId: string
  readonly keyId: string
}

/** The same for one volume. */
export interface VolumeGrant {
  readonly volume: string
  readonly tenantId: string
  readonly keyId: string
}

/** What a link for files of a build is good for. */
export interface Upload {
  readonly tenantId: string
  readonly keyId: string
  readonly hash: string
  /** Milliseconds since 1970. */
  readonly issued: number
}

const TOKEN = /^([\w-]{1,64})\.([\w-]{1,64})\.([\w-]{43})$/
const MOST_ISSUED = 10_000

/**
 * The tokens with which clients reach into a sandbox. They are derived, not stored: they outlive a restart, end with the key that they
 * were given to, and are of no use for another sandbox.
 */
export class AccessTokens {
  readonly #secret: Uint8Array
  readonly #issued = new Map<string, Grant>()

  constructor(secret: Uint8Array) {
    this.#secret = secret
  }

  /** Remembered too, so that a link that does not name its sandbox can be found. */
  issue(grant: Grant): string {
    const token = this.derive(grant)
    this.#issued.delete(token)
    this.#issued.set(token, grant)
    const [oldest] = this.#issued.keys()
    if (this.#issued.size > MOST_ISSUED && oldest !== undefined) this.#issued.delete(oldest)
    return token
  }

  derive({ sandbox, tenantId, keyId }: Grant): string {
    return `${tenantId}.${keyId}.${this.#mac('access', sandbox, tenantId, keyId)}`
  }

  /** Null for anything that was not made here for this sandbox. */
  verify(token: string, sandbox: SandboxId): Grant | null {
    const [, tenantId, keyId] = TOKEN.exec(token) ?? []
    if (tenantId === undefined || keyId === undefined) return null
    const grant = { sandbox, tenantId, keyId }
    return sameText(token, this.derive(grant)) ? grant : null
  }

  /** The grants under which this signature could have been made, newest first. */
  signedBy(signature: string, text: SignedText): Grant | null {
    for (const [token, grant] of [...this.#issued].reverse()) {
      if (sameText(signature, signatureOf(text, token))) return grant
    }
    return null
  }

  /** For the ports of a sandbox whose traffic is not public. */
  traffic(sandbox: SandboxId): string {
    return this.#mac('traffic', sandbox)
  }

  /** For what is in one volume. */
  volume({ volume, tenantId, keyId }: VolumeGrant): string {
    return `${tenantId}.${keyId}.${this.#mac('volume', volume, tenantId, keyId)}`
  }

  volumeGrant(token: string, volume: string): VolumeGrant | null {
    const [, tenantId, keyId] = TOKEN.exec(token) ?? []
    if (tenantId === undefined || keyId === undefined) return null
    const grant = { volume, tenantId, keyId }
    return sameText(token, this.volume(grant)) ? grant : null
  }

  /** Of a link to which files of a build are sent. */
  upload({ tenantId, keyId, hash: files, issued }: Upload): string {
    return this.#mac('upload', tenantId, keyId, files, String(issued))
  }

  #mac(purpose: 'access' | 'traffic' | 'upload' | 'volume', ...parts: readonly string[]): string {
    return createHmac('sha256', this.#secret)
      .update(['hearth e2b 1', purpose, ...parts].join('\n'))
      .digest('base64url')
  }
}

export interface SignedText {
  /** As the client wrote it, not as it is resolved. */
  readonly path: string
  readonly operation: 'read' | 'write'
  readonly user: string
  /** Seconds since 1970, as it was written. */
  readonly expiration: string | null
}

/** As E2B's clients sign links to files. */
export function signatureOf({ path, operation, user, expiration }: SignedText, token: string): string {
  const parts = [path, operation, user, token, ...(expiration === null ? [] : [expiration])]
  return `v1_${hash('sha256', parts.join(':'), 'base64').replace(/=+$/, '')}`
}

/** Takes the same time wherever the two differ. */
export function sameText(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}
