import { networkInterfaces } from 'node:os'
import { isPublic, isWithin, plainAddress } from '../policy/addresses.ts'

/** Addresses of a host seldom change, and asking for them costs as much as a connection. */
const KEPT_MS = 1000

let own = new Set<string>()
let askedAt = -Infinity

/** Whether the dialer would connect to this address: one of the internet at large that is not this host's own, or one that these networks hold. */
export function mayDial(address: string, networks: readonly string[]): boolean {
  return (isPublic(address) && !isOwn(address)) || isWithin(address, networks)
}

/** What listens on the host's own addresses may be closed to the internet by a firewall, but not to the host itself. */
function isOwn(address: string): boolean {
  const now = performance.now()
  if (now - askedAt > KEPT_MS) {
    own = new Set(Object.values(networkInterfaces()).flatMap((found = []) => found.map((each) => each.address)))
    askedAt = now
  }
  return own.has(plainAddress(address))
}
