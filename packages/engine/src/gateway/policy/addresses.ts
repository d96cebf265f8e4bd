import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** What is not the public internet: reaching it from a sandbox needs a rule that names it. */
const NOT_PUBLIC = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Also where clouds keep their metadata.
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  // The anycast of 6to4 relays: packets to it are unwrapped by somebody.
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Multicast, the reserved quarter and broadcast.
  ['224.0.0.0', 3],
  // Metadata of a cloud that took a public address for it.
  ['168.63.129.16', 32],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv4')
}

/** Only what is assigned as global unicast is public, and of that nothing that carries an IPv4 address or is set aside. */
const GLOBAL_UNICAST = new BlockList()
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6')
for (const [network, prefix] of [
  // Teredo, benchmarking, ORCHID and other special purposes.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4: the IPv4 address inside could be any.
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv6')
}

/** An address of the internet at large. Those that wrap another one (mapped, NAT64) are judged by what they wrap. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !NOT_PUBLIC.check(address, 'ipv4')
  if (!isIPv6(address) || address.includes('%')) return false
  const inner = wrappedIpv4(address)
  if (inner !== null) return isPublic(inner)
  return GLOBAL_UNICAST.check(address, 'ipv6') && !NOT_PUBLIC.check(address, 'ipv6')
}

/** Whether one of these networks (`10.0.0.0/8`) holds it. */
export function isWithin(address: string, networks: readonly string[]): boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [base = '', prefix = ''] = network.split('/')
    list.addSubnet(base, Number(prefix), isIPv4(base) ? 'ipv4' : 'ipv6')
  }
  const plain = plainAddress(address)
  return list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
}

/** The address that one leads to which wraps it, and every other as it is. */
export function plainAddress(address: string): string {
  return isIPv6(address) ? (wrappedIpv4(address) ?? address) : address
}

/** The IPv4 address inside ::ffff:0:0/96 (mapped) or 64:ff9b::/96 (NAT64). */
function wrappedIpv4(address: string): string | null {
  const groups = expand(address)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const translated = groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  if (!mapped && !translated) return null
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

function expand(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const text =
    dotted === null
      ? address
      : `${dotted[1]}${((Number(dotted[2]) << 8) | Number(dotted[3])).toString(16)}:${((Number(dotted[4]) << 8) | Number(dotted[5])).toString(16)}`
  const [head = '', tail] = text.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : 8 - before.length - after.length
  return [...before, ...Array<string>(missing).fill('0'), ...after].map((group) => Number.parseInt(group, 16))
}
