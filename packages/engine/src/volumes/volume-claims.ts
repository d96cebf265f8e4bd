import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HearthError, sandboxIdSchema, type SandboxId, type VolumeId } from '@hearth/contract'
import { ClaimFile } from '../host/claim-file.ts'
import { isAlive, ownIdentity } from '../host/process-identity.ts'

/** What is known of those who have volumes. */
export interface Holders {
  /** Whether there is such a sandbox: it runs or sleeps, or somebody who lives is making it. */
  isThere(id: SandboxId): Promise<boolean>
  /** Removes what a crash has left of one that is not there. Afterwards nothing of it runs. */
  clear(id: SandboxId): Promise<void>
}

const WRITER = 'writer'
const PROCESS = /^process (\d+) (\d+)$/

/**
 * Who has a volume. A claim names a sandbox, and counts as long as that one is there: nothing has to be released, and a crash leaves no
 * volume locked.
 */
export class VolumeClaims {
  readonly #volume: VolumeId
  readonly #directory: string
  readonly #holders: Holders

  constructor(volume: VolumeId, directory: string, holders: Holders) {
    this.#volume = volume
    this.#directory = join(directory, 'claims')
    this.#holders = holders
  }

  /** Who may write to it: a sandbox, or `host` while it is being filled. */
  async writer(): Promise<SandboxId | 'host' | null> {
    const holder = ClaimFile.holder(this.#directory, WRITER)
    if (holder === null || !(await this.#lives(holder))) return null
    return sandboxIdSchema.safeParse(holder).data ?? 'host'
  }

  async readers(): Promise<SandboxId[]> {
    const found = this.#readers()
    const there = await Promise.all(found.map((id) => this.#holders.isThere(id)))
    return found.filter((_, index) => there[index])
  }

  /** The sandbox may write to it, and no other one until it is gone. Idempotent. */
  async write(id: SandboxId): Promise<void> {
    if (ClaimFile.holder(this.#directory, WRITER) === id) return
    await this.#take(id)
  }

  /** As a sandbox that writes, for this process, until it is disposed of. */
  async fill(): Promise<Disposable> {
    const { pid, startTime } = ownIdentity()
    const claim = await this.#take(`process ${pid} ${startTime}`)
    return { [Symbol.dispose]: () => claim.release() }
  }

  /** The sandbox reads it. */
  async read(id: SandboxId): Promise<void> {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    for (const other of this.#readers()) if (!(await this.#holders.isThere(other))) this.#forget(other)
    writeFileSync(join(this.#directory, id), '', { mode: 0o600 })
  }

  async #take(holder: string): Promise<ClaimFile> {
    const before = ClaimFile.holder(this.#directory, WRITER)
    const claim = await ClaimFile.take(this.#directory, WRITER, holder, (other) => this.#lives(other))
    if (claim === null) throw inUse(this.#volume, (await this.writer()) ?? 'host')
    const left = sandboxIdSchema.safeParse(before).data
    // SAFETY: what died a moment ago may still have a process that writes.
    if (left !== undefined) await this.#holders.clear(left)
    return claim
  }

  async #lives(holder: string): Promise<boolean> {
    const sandbox = sandboxIdSchema.safeParse(holder).data
    if (sandbox !== undefined) return await this.#holders.isThere(sandbox)
    const [, pid = '', startTime = ''] = PROCESS.exec(holder) ?? []
    return isAlive({ pid: Number(pid), startTime })
  }

  #readers(): SandboxId[] {
    let names: string[]
    try {
      names = readdirSync(this.#directory)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw error
    }
    return names.flatMap((name) => sandboxIdSchema.safeParse(name).data ?? [])
  }

  #forget(id: SandboxId): void {
    rmSync(join(this.#directory, id), { force: true })
  }
}

export function inUse(volume: VolumeId, holder: SandboxId | 'host'): HearthError {
  const who = holder === 'host' ? 'being filled by the host' : `attached to sandbox ${holder}`
  return new HearthError('volume_in_use', `volume ${volume} is ${who}`, { context: { volume, holder } })
}
