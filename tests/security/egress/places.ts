/** The host's end of the wire to the internet, and the internet's. */
export const HOST_ADDRESS = '45.1.0.2'
export const INTERNET_ADDRESS = '45.1.0.1'
/** Where the hosts live that rules lead to. */
export const KNOWN_NETWORK = '45.0.0.'

const METADATA = '169.254.169.254'

/** What names lead to. One answer after the other, the last one for ever. */
export const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'allowed.example': [['45.0.0.1']],
  'rules.example': [['45.0.0.2']],
  'vault.example': [['45.0.0.3']],
  'other.example': [['45.0.0.4']],
  'proxy.example': [['45.0.0.5']],
  'rebind.example': [['45.0.0.7'], [METADATA, '45.0.0.7'], [METADATA]],
  'loopback.inner.example': [['127.0.0.1']],
  'zero.inner.example': [['0.0.0.0']],
  'private.inner.example': [['10.0.0.5']],
  'carrier.inner.example': [['100.64.0.1']],
  'metadata.inner.example': [[METADATA]],
  'unique.inner.example': [['fd00:ec2::254']],
  'mapped.inner.example': [[`::ffff:${METADATA}`]],
  'nat64.inner.example': [['64:ff9b::a9fe:a9fe']],
  'sixtofour.inner.example': [['2002:a9fe:a9fe::1']],
  'own.inner.example': [['192.168.77.2']],
  'ownpublic.inner.example': [[HOST_ADDRESS]],
}

/** A request as a server of the internet got it. */
export interface SeenRequest {
  readonly address: string
  readonly method: string
  readonly url: string
  /** Head, body and trailers as one text. */
  readonly whole: string
}

export interface InternetReport {
  /** What reached somebody who must not be reached. */
  readonly strangers: string[]
  readonly requests: SeenRequest[]
}

/** One attempt of a program inside: what it belongs to, its name and what came of it. */
export type Outcome = readonly [item: string, attempt: string, outcomes: readonly string[]]

/** What one rung showed. */
export interface StageReport {
  readonly internet: InternetReport
  /** Hits on services of the host itself. */
  readonly hostServices: readonly string[]
  readonly bypass: readonly Outcome[]
  readonly theft: readonly Outcome[]
  /** Texts of the shape of a secret, and where a search inside found them. */
  readonly found: Readonly<Record<string, string>>
  readonly placeholders: Readonly<Record<string, string>>
  /** Null where the rung has no forks. */
  readonly fork: { readonly placeholder: string; readonly answers: readonly string[] } | null
  /** Files of the host (home, snapshot images) that hold a value; and those that hold a placeholder, to show that the search works. */
  readonly leaks: readonly string[]
  readonly searched: { readonly files: number; readonly withPlaceholder: number }
  readonly resolved: readonly string[]
  readonly record: string
}

/** Values that must never be seen inside. They share a shape, by which a search finds them. */
export const VALUES = {
  VAULT: 'ghp_Zk3vQ9mT1xR7cL5bN8wY2pH6dF4sJ0aG',
  DEPLOY: 'dep_Xe7uW2oK9rB4nV6yC1tM8qL3hS5gD0fP',
  QUERY: 'qry_Jt4iE8zA2mX6vK1wR9bN3cQ7yH5uL0oT',
  FIELD: 'fld_Vy1gB5dO7sZ3kP8nC2xM6rW4jE9qF0hU',
  BASIC: 'bas_Nw6pG2cU9fT4vD8kY1mS5zL7xJ3bR0eI',
  OTHER: 'oth_Lr8sH3yQ6tE1jX9bV4nK7wC2gM5dZ0pA',
} as const

/** All notations of a value that a search looks for. */
export function notationsOf(value: string): string[] {
  const bytes = Buffer.from(value)
  const escaped = (before: string, width: number): string =>
    Array.from(value, (one) => before + one.charCodeAt(0).toString(16).padStart(width, '0')).join('')
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '')
      .slice(4, -4),
  )
  const hex = bytes.toString('hex')
  return [
    value,
    ...shifted,
    hex,
    hex.toUpperCase(),
    escaped('%', 2),
    escaped(String.raw`\u`, 4),
    escaped(String.raw`\\u`, 4),
    bytes
      .toString('base64')
      .match(/.{20}/g)
      ?.join(String.raw`\n`) ?? value,
    Array.from(value).join('\0'),
  ]
}
