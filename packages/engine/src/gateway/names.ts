import { createHash } from 'node:crypto'
import { BOUNDS } from '@hearth/contract'

/** 127.64.0.0/10 */
const FIRST = 0x7f40_0000
const COUNT = 2 ** 22

/**
 * The addresses inside one sandbox under which it finds names. A name keeps its address, also after a restart of the host and in
 * copies of the sandbox, unless another name has come to it first.
 */
export class NameAddresses {
  readonly #byName = new Map<string, number>()
  readonly #byAddress = new Map<number, string>()

  /** Null when there are too many names. */
  addressOf(name: string): number | null {
    const known = this.#byName.get(name)
    if (known !== undefined) return known
    if (this.#byName.size >= BOUNDS.gatewayNames) return null
    let at = createHash('sha256').update(name).digest().readUInt32BE(0) % COUNT
    // Neither the first nor the last of a range, which some programs take for the whole.
    while (this.#byAddress.has(FIRST + at) || (at & 0xff) === 0 || (at & 0xff) === 0xff) at = (at + 1) % COUNT
    this.#byName.set(name, FIRST + at)
    this.#byAddress.set(FIRST + at, name)
    return FIRST + at
  }

  /** The name that was found there; null for an address that was never given out. */
  nameAt(address: number): string | null {
    return this.#byAddress.get(address) ?? null
  }

  /** Gives the place of names up that nobody may reach any more. */
  keep(allowed: (name: string) => boolean): void {
    for (const [name, address] of this.#byName) {
      if (allowed(name)) continue
      this.#byName.delete(name)
      this.#byAddress.delete(address)
    }
  }
}
