import { isPublic, isWithin } from '../policy/addresses.ts'

export { Dialer, type Resolve } from './dialer.ts'

/** Whether the dialer would connect to this address. */
export function mayDial(address: string, networks: readonly string[]): boolean {
  return isPublic(address) || isWithin(address, networks)
}
