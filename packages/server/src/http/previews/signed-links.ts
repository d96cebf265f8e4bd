import { createHmac, timingSafeEqual } from 'node:crypto'
import { sandboxIdSchema } from '@hearth/contract'
import { z } from 'zod'

const grantSchema = z.strictObject({
  sandbox: sandboxIdSchema,
  port: z.int().min(1).max(65_535),
  expiresAt: z.int(),
  tenant: z.string().max(64),
  key: z.string().max(64),
})

/** What a signed link allows: one port of one sandbox, until it expires or the key that made it is revoked. */
export type LinkGrant = z.output<typeof grantSchema>

/** Makes and checks the tokens of signed links. Whoever has one needs no key. */
export class SignedLinks {
  readonly #secret: Uint8Array

  constructor(secret: Uint8Array) {
    if (secret.length < 32) throw new Error('the secret of signed links must have 32 bytes at least')
    this.#secret = secret
  }

  sign(grant: LinkGrant): string {
    const payload = Buffer.from(JSON.stringify(grant)).toString('base64url')
    return `${payload}.${this.#mac(payload).toString('base64url')}`
  }

  /** Null for anything that was not signed here, is for something else, or has expired. */
  verify(token: string, sandbox: string, port: number): LinkGrant | null {
    const grant = this.open(token)
    return grant?.sandbox === sandbox && grant.port === port ? grant : null
  }

  /** What a token is for. Null for anything that was not signed here or has expired. */
  open(token: string): LinkGrant | null {
    const [, payload, mac] = /^([\w-]{1,600})\.([\w-]{43})$/.exec(token) ?? []
    if (payload === undefined || mac === undefined) return null
    // As text: two spellings of the last character decode to the same bytes, and only one of them was given out.
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(payload).toString('base64url')))) return null
    // Signed by this server: it is what `sign` was given.
    const grant = grantSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')))
    return grant.expiresAt > Date.now() ? grant : null
  }

  #mac(payload: string): Buffer {
    return createHmac('sha256', this.#secret).update('hearth preview link 1\n').update(payload).digest()
  }
}
