interface Network {
  readonly bits: bigint
  readonly width: number
  readonly prefix: number
}

/** Whether all addresses of one network (`10.1.0.0/16`) are in another. What cannot be read is in none. */
export function isNetworkWithin(inner: string, outer: string): boolean {
  const [a, b] = [parseNetwork(inner), parseNetwork(outer)]
  if (a === null || b === null || a.width !== b.width || a.prefix < b.prefix) return false
  const rest = BigInt(b.width - b.prefix)
  return a.bits >> rest === b.bits >> rest
}

function parseNetwork(text: string): Network | null {
  const [address = '', prefix = ''] = text.split('/')
  const dotted = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)
  if (dotted !== null) {
    const bits = dotted.slice(1).reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
    return { bits, width: 32, prefix: Number(prefix) }
  }
  const groups = expandGroups(address)
  if (groups === null) return null
  return { bits: groups.reduce((sum, group) => (sum << 16n) | BigInt(group), 0n), width: 128, prefix: Number(prefix) }
}

/** The eight groups of an IPv6 address; null for one with a dotted end, which is written as numbers where it is meant. */
function expandGroups(address: string): readonly number[] | null {
  if (!/^[0-9a-f:]+$/i.test(address)) return null
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : 8 - before.length - after.length
  if (missing < 0) return null
  const groups = [...before, ...Array<string>(missing).fill('0'), ...after].map((group) => Number.parseInt(group, 16))
  return groups.length === 8 ? groups : null
}
