import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** An authority outside this process: PEM, and the key as PKCS #8 in base64. */
export interface KeptAuthority {
  readonly certificate: string
  readonly key: string
}

const DAY_MS = 24 * 3_600_000
/** Longer than any sandbox lives. */
const VALID_MS = 60 * DAY_MS
/** One with less time left is not taken up again. */
const LEFT_MS = 35 * DAY_MS
/** A sandbox's clock may be behind. */
const BEFORE_MS = DAY_MS
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const LEAVES = 256

/**
 * The certificate authority of one sandbox. Its key never leaves the host and signs for this sandbox alone, so that no other sandbox and
 * nobody outside has a reason to trust it.
 */
export class CertificateAuthority {
  /** PEM, for the sandbox's trust store. */
  readonly certificate: string
  readonly #authority: X509Certificate
  readonly #signingKey: webcrypto.CryptoKey
  readonly #leafKeys: webcrypto.CryptoKeyPair
  readonly #leafKey: string
  readonly #leaves = new Map<string, Promise<SecureContext>>()

  private constructor(
    authority: X509Certificate,
    signingKey: webcrypto.CryptoKey,
    leafKeys: webcrypto.CryptoKeyPair,
    leafKey: string,
  ) {
    this.#authority = authority
    this.#signingKey = signingKey
    this.#leafKeys = leafKeys
    this.#leafKey = leafKey
    this.certificate = authority.toString('pem')
  }

  static async create(): Promise<CertificateAuthority> {
    const [keys, leafKeys] = await Promise.all([newKeys(), newKeys()])
    const authority = await X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: 'CN=Hearth sandbox authority',
      ...validity(),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    return new CertificateAuthority(authority, keys.privateKey, leafKeys, await pemOf(leafKeys.privateKey))
  }

  /** The same again, for programs that trust it already. Null when it is too old: its sandbox needs another one. */
  static async restore({ certificate, key }: KeptAuthority): Promise<CertificateAuthority | null> {
    const authority = new X509Certificate(certificate)
    if (authority.notAfter.getTime() - Date.now() < LEFT_MS) return null
    const [signing, leafKeys] = await Promise.all([
      webcrypto.subtle.importKey('pkcs8', Buffer.from(key, 'base64'), ALGORITHM, true, ['sign']),
      newKeys(),
    ])
    return new CertificateAuthority(authority, signing, leafKeys, await pemOf(leafKeys.privateKey))
  }

  /** What `restore` needs. */
  async keep(): Promise<KeptAuthority> {
    return { certificate: this.certificate, key: await exported(this.#signingKey) }
  }

  /** What a server of this name shows; made once. The oldest go when there are many. */
  async contextFor(name: string): Promise<SecureContext> {
    let leaf = this.#leaves.get(name)
    if (leaf === undefined) {
      leaf = this.#issue(name)
      this.#leaves.set(name, leaf)
      leaf.catch(() => this.#leaves.delete(name))
      const [oldest] = this.#leaves.keys()
      if (this.#leaves.size > LEAVES && oldest !== undefined) this.#leaves.delete(oldest)
    }
    return await leaf
  }

  async #issue(name: string): Promise<SecureContext> {
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: 'CN=Hearth gateway',
      issuer: this.#authority.subject,
      ...validity(),
      signingAlgorithm: ALGORITHM,
      publicKey: this.#leafKeys.publicKey,
      signingKey: this.#signingKey,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
        await SubjectKeyIdentifierExtension.create(this.#leafKeys.publicKey),
        // Python 3.13 refuses a leaf without it.
        await AuthorityKeyIdentifierExtension.create(this.#authority, false),
      ],
    })
    return createSecureContext({ cert: certificate.toString('pem'), key: this.#leafKey, minVersion: 'TLSv1.2' })
  }
}

async function exported(key: webcrypto.CryptoKey): Promise<string> {
  return Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return `-----BEGIN PRIVATE KEY-----\n${await exported(key)}\n-----END PRIVATE KEY-----\n`
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return { notBefore: new Date(now - BEFORE_MS), notAfter: new Date(now + VALID_MS) }
}

/** Positive, and never the same twice. */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString('hex')
}
