import { createHash, createPrivateKey, createPublicKey, hkdfSync, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { HearthError } from '@hearth/contract'
import { RecordSigner } from './record/record-signer.ts'
import { SecretBox } from './secrets/secret-box.ts'

const KEY_BYTES = 32
/** What comes before the 32 bytes of a private key of Ed25519 in its usual form. */
const PRIVATE_KEY_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/** What a server does with its secret key. The key itself is nowhere else, least of all in the database. */
export interface ServerKeys {
  /** Encrypts the values of secrets. */
  readonly box: SecretBox
  /** Signs the ends of the chains of events. */
  readonly signer: RecordSigner
}

export function deriveKeys(key: Uint8Array): ServerKeys {
  const derived = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES))
  const id = createHash('sha256').update(derived('hearth key identity')).digest('hex').slice(0, 16)
  const der = Buffer.concat([PRIVATE_KEY_PREFIX, derived('hearth record signature')])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const exported = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  return {
    box: new SecretBox(derived('hearth secrets'), id),
    signer: new RecordSigner(privateKey, exported.subarray(-KEY_BYTES).toString('hex')),
  }
}

/** The key that was given as text, or that of the file, which is made at the first start. */
export async function serverKey(path: string, given: string | undefined): Promise<Uint8Array> {
  if (given !== undefined && given !== '') return keyOfText(given)
  return (await keyOfFile(path)) ?? (await makeKey(path))
}

function keyOfText(text: string): Uint8Array {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64')
  if (key.length === KEY_BYTES) return key
  // The text is not repeated: it is meant to be a key.
  throw new HearthError(
    'invalid_request',
    'the secret key (HEARTH_SECRET_KEY or secretKeyFile) must be 32 bytes in hex or base64',
    {
      suggestion: 'Make one with `openssl rand -hex 32`, and keep it: what it encrypts cannot be read without it.',
    },
  )
}

async function keyOfFile(path: string): Promise<Uint8Array | null> {
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null || found.length === KEY_BYTES) return found
  throw new HearthError('secret_unreadable', `${path} is damaged: it must hold ${KEY_BYTES} bytes`, {
    suggestion: 'Put the file back from a copy. Without it all secrets must be stored anew.',
  })
}

/** Of several that start at once, one makes it; it is there whole or not at all. */
async function makeKey(path: string): Promise<Uint8Array> {
  const key = randomBytes(KEY_BYTES)
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(temporary, key, { mode: 0o600, flag: 'wx', flush: true })
  try {
    await link(temporary, path)
    return key
  } catch (error) {
    const made = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await keyOfFile(path) : null
    if (made === null) throw error
    return made
  } finally {
    await rm(temporary, { force: true })
  }
}
