import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { HearthError } from '@hearth/contract'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Encrypts with AES-256-GCM. What a value belongs to is authenticated with it, so that nobody can put it elsewhere. */
export class SecretBox {
  readonly keyId: string
  readonly #key: Uint8Array

  constructor(key: Uint8Array, keyId: string) {
    this.#key = key
    this.keyId = keyId
  }

  seal(value: string, belongsTo: string): string {
    // SAFETY: a nonce must never come twice with one key; of 2^96 random ones that is so for as many secrets as there can be.
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(Buffer.from(belongsTo))
    const sealed = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()])
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
  }

  /** `secret_unreadable` when it was sealed with another key, for something else, or was changed. */
  open(sealed: string, keyId: string, belongsTo: string): string {
    if (keyId !== this.keyId) {
      throw new HearthError(
        'secret_unreadable',
        `it was encrypted with the key ${keyId}, and this server has ${this.keyId}`,
      )
    }
    const bytes = Buffer.from(sealed, 'base64')
    const nonce = bytes.subarray(0, NONCE_BYTES)
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(belongsTo))
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const value = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([value, decipher.final()]).toString('utf8')
    } catch (error) {
      throw new HearthError('secret_unreadable', 'it was changed in the database, or its binding was', { cause: error })
    }
  }
}
