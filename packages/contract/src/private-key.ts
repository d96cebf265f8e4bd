const ARMOR = /^-----BEGIN ((?:OPENSSH |RSA |EC )?)PRIVATE KEY-----\n([A-Za-z0-9+/=\n]+)-----END \1PRIVATE KEY-----\n$/
const OPENSSH_MAGIC = 'openssh-key-v1\0'

/** With the line breaks that `ssh` wants, which are lost when a key is pasted or comes from another system. */
export function plainKey(text: string): string {
  return `${text.replaceAll(/\r\n?/g, '\n').trim()}\n`
}

/** Why a text cannot be used as a private key of ssh; null when it can. The text is in no answer. */
export function privateKeyProblem(text: string): string | null {
  const plain = plainKey(text)
  if (/^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(plain)) return ENCRYPTED
  const [, kind, body] = ARMOR.exec(plain) ?? []
  if (kind === undefined || body === undefined) return NO_KEY
  const bytes = bytesOf(body.replaceAll('\n', ''))
  if (bytes === null) return NO_KEY
  if (kind !== 'OPENSSH ') return null
  if (!bytes.startsWith(OPENSSH_MAGIC)) return NO_KEY
  // The name of the cipher follows, with its length before it.
  return bytes.startsWith('\0\0\0\u0004none', OPENSSH_MAGIC.length) ? null : ENCRYPTED
}

const NO_KEY = 'must be a private key of ssh, as `ssh-keygen` writes it'
const ENCRYPTED =
  'has a passphrase, which nobody can enter here: make a key for this purpose with `ssh-keygen -t ed25519 -N ""`, or take the passphrase off a copy with `ssh-keygen -p`'

function bytesOf(base64: string): string | null {
  try {
    return atob(base64)
  } catch {
    return null
  }
}
