import type { Header, Headers } from '../http/message.ts'
import type { PlaceholderWatch } from './placeholder-watch.ts'
import type { SandboxSecret } from './sandbox-secrets.ts'

export interface Head {
  readonly target: string
  readonly headers: Headers
}

export interface PlacedHead extends Head {
  readonly used: readonly SandboxSecret[]
}

/** Puts values into headers and the query, where they are bound to, and refuses a placeholder anywhere else in the head. */
export function placeInHead(head: Head, usable: readonly SandboxSecret[], watch: PlaceholderWatch): PlacedHead {
  const used = new Set<SandboxSecret>()
  const headers = head.headers.map((header) => placeInHeader(header, head.headers, usable, watch, used))
  return { headers, target: placeInTarget(head.target, usable, watch, used), used: [...used] }
}

function placeInHeader(
  header: Header,
  all: Headers,
  usable: readonly SandboxSecret[],
  watch: PlaceholderWatch,
  used: Set<SandboxSecret>,
): Header {
  const [name, value] = header
  const key = name.toLowerCase()
  watch.checkName(name)
  const alone = all.filter(([other]) => other.toLowerCase() === key).length === 1
  if (alone && key === 'authorization') {
    const basic = placeInBasic(value, usable, watch, used)
    if (basic !== null) return [name, basic]
  }
  for (const secret of alone ? usable : []) {
    const { placement } = secret.binding
    if (placement.in !== 'header' || placement.header !== key) continue
    const scheme = schemeBefore(value, secret.placeholder)
    if (scheme === null) continue
    used.add(secret)
    return [name, scheme + secret.value]
  }
  watch.check(value, `the header ${key}`)
  return header
}

/** What stands before the placeholder: nothing, or one word such as `Bearer`. Null for everything else. */
function schemeBefore(value: string, placeholder: string): string | null {
  if (!value.endsWith(placeholder)) return null
  const before = value.slice(0, -placeholder.length)
  return before === '' || /^[A-Za-z][A-Za-z0-9_-]{0,31} $/.test(before) ? before : null
}

/** Null when it is not HTTP Basic or no secret belongs there. */
function placeInBasic(
  value: string,
  usable: readonly SandboxSecret[],
  watch: PlaceholderWatch,
  used: Set<SandboxSecret>,
): string | null {
  const [, scheme = '', encoded] = /^(basic +)([A-Za-z0-9+/_-]+={0,2})$/i.exec(value) ?? []
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  const parts = colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)]
  let placed = false
  const filled = parts.map((part) => {
    const secret = usable.find(({ binding, placeholder }) => binding.placement.in === 'basic' && placeholder === part)
    if (secret === undefined) {
      watch.check(part, 'the header authorization')
      return part
    }
    placed = true
    used.add(secret)
    return secret.value
  })
  return placed ? scheme + Buffer.from(filled.join(':'), 'latin1').toString('base64') : null
}

function placeInTarget(
  target: string,
  usable: readonly SandboxSecret[],
  watch: PlaceholderWatch,
  used: Set<SandboxSecret>,
): string {
  const at = target.indexOf('?')
  if (at < 0) {
    watch.check(target, 'the path')
    return target
  }
  const pairs = target.slice(at + 1).split('&')
  const keys = pairs.map((pair) => decoded(pair.split('=', 1)[0] ?? ''))
  const rest: string[] = []
  const placed = pairs.map((pair, index) => {
    const equals = pair.indexOf('=')
    const value = equals < 0 ? null : decoded(pair.slice(equals + 1))
    const secret = usable.find(
      ({ binding: { placement }, placeholder }) =>
        placement.in === 'query' && keys[index] === placement.key && value === placeholder,
    )
    // The same key twice: nobody knows which one the server reads.
    if (secret === undefined || keys.filter((key) => key === keys[index]).length > 1) {
      rest.push(pair)
      return pair
    }
    used.add(secret)
    return `${pair.slice(0, equals + 1)}${encodeURIComponent(secret.value)}`
  })
  watch.check(target.slice(0, at), 'the path')
  watch.check(rest.join('&'), 'the query')
  return `${target.slice(0, at)}?${placed.join('&')}`
}

/** As servers read a query; null for what none reads. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}
