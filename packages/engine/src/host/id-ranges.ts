import { randomInt } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, type SandboxId } from '@hearth/contract'
import { isAlive, ownIdentity } from './process-identity.ts'

/** Above every id that distributions hand out to people, services or subordinate ranges. */
const FIRST_ID = 0x4000_0000
const SLOTS = 16_384
export const IDS_PER_SANDBOX = 65_536

/**
 * Gives each sandbox 65536 ids of its own, so that two sandboxes are strangers to each other and to the host.
 * A slot is a file made exclusively, so that processes that share a home cannot take the same one.
 */
export class IdRanges {
  readonly #directory: string

  constructor(home: string) {
    this.#directory = join(home, 'ids')
  }

  /** Synchronous: a file of a few bytes takes microseconds, the way through the thread pool a good part of a millisecond. */
  allocate(id: SandboxId): number {
    return this.#take(id)
  }

  /** For a sandbox that is not known yet. It is this process's, and is nobody's when this process ends without giving it away. */
  reserve(): number {
    const { pid, startTime } = ownIdentity()
    return this.#take(`process ${pid} ${startTime}`)
  }

  /** A reserved range becomes a sandbox's. */
  give(base: number, id: SandboxId): void {
    writeFileSync(this.#path(base), id)
  }

  #path(base: number): string {
    return join(this.#directory, String((base - FIRST_ID) / IDS_PER_SANDBOX))
  }

  #take(owner: string): number {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    for (let attempt = 0; attempt < 1000; attempt++) {
      const slot = randomInt(SLOTS)
      try {
        writeFileSync(join(this.#directory, String(slot)), owner, { flag: 'wx' })
        return FIRST_ID + slot * IDS_PER_SANDBOX
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
    throw new HearthError('too_many', 'no free range of ids for another sandbox')
  }

  /** Gives back one that was reserved and not given away. */
  async release(base: number): Promise<void> {
    const owner = await readFile(this.#path(base), 'utf8').catch(() => '')
    if (isReserved(owner)) await rm(this.#path(base), { force: true })
  }

  async free(base: number, id: SandboxId): Promise<void> {
    const path = this.#path(base)
    const owner = await readFile(path, 'utf8').catch(() => '')
    if (owner === id) await rm(path, { force: true })
  }
}

/** Whether a process that lives has reserved a range; `owner` is the content of its file. */
export function isReserved(owner: string): boolean {
  const match = /^process (\d+) (\d+)$/.exec(owner)
  return match?.[1] !== undefined && match[2] !== undefined && isAlive({ pid: Number(match[1]), startTime: match[2] })
}
