import { HearthError } from '@hearth/sdk'

/** A kind of thing on a server that people name. */
export interface Kind {
  /** `snapshot` */
  readonly what: string
  /** `snapshots` */
  readonly several: string
  /** Of its identifiers, without the underscore. */
  readonly prefix: string
  readonly missing: ConstructorParameters<typeof HearthError>[0]
  /** The command that shows them. */
  readonly list: string
}

interface Named {
  readonly id: string
  readonly name?: string | null
}

/** As for sandboxes. */
const SHORTEST_PART = 4
const PART = /^[0-9a-z]+$/

export function isWholeId(kind: Kind, text: string): boolean {
  return new RegExp(`^${kind.prefix}_[0-9a-z]{20}$`).test(text)
}

/** The one that a person names: by its identifier, its name, or by so much of the identifier's beginning or end that only one fits. */
export function pickNamed<Item extends Named>(kind: Kind, all: readonly Item[], name: string): Item {
  // A name is never in doubt, also when it looks like a part of an identifier.
  const named = all.find((item) => item.id === name || item.name === name)
  if (named !== undefined) return named
  const found = all.filter(({ id }) => fits(kind, id, name))
  const [only, ...others] = found
  if (only === undefined) throw notFound(kind, name)
  if (others.length === 0) return only
  const shown = found.slice(0, 3).map(({ id }) => id)
  throw new HearthError('invalid_request', `${name} fits ${found.length} ${kind.several}: ${shown.join(', ')}`, {
    suggestion: 'Give more of the identifier; its end is different for each.',
  })
}

function notFound({ what, missing, list }: Kind, name: string): HearthError {
  return new HearthError(missing, `there is no ${what} ${JSON.stringify(name)}`, {
    suggestion: `Give what \`${list}\` shows: a name, or at least ${SHORTEST_PART} characters of an ID.`,
  })
}

function fits({ prefix }: Kind, id: string, name: string): boolean {
  const begin = `${prefix}_`
  const whole = name.startsWith(begin)
  const part = whole ? name.slice(begin.length) : name
  if (!PART.test(part) || part.length < SHORTEST_PART) return false
  const own = id.slice(begin.length)
  return own.startsWith(part) || (!whole && own.endsWith(part))
}
