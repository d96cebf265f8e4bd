import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nameTaken, snapshotIdSchema, snapshotNameSchema, type SnapshotId } from '@hearth/contract'

/** The names that people gave to snapshots: a file each, made exclusively, so that no two snapshots get the same. */
export class SnapshotNames {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  async claim(name: string, id: SnapshotId, isThere: (id: SnapshotId) => Promise<boolean>): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    for (let attempt = 0; attempt < 3; attempt++) {
      const taken = await writeFile(this.#path(name), id, { flag: 'wx', mode: 0o600 }).then(
        () => false,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return true
          throw error
        },
      )
      if (!taken) return
      const other = await this.find(name)
      if (other === id) return
      if (other !== null && (await isThere(other))) break
      await this.release(name, other)
    }
    throw nameTaken(name)
  }

  async find(name: string): Promise<SnapshotId | null> {
    if (!snapshotNameSchema.safeParse(name).success) return null
    const text = await readFile(this.#path(name), 'utf8').catch(() => '')
    return snapshotIdSchema.safeParse(text).data ?? null
  }

  /** Only if it is still that snapshot's; null for one that names none. */
  async release(name: string, id: SnapshotId | null): Promise<void> {
    if ((await this.find(name)) === id) await rm(this.#path(name), { force: true })
  }

  /** Forgets the names of snapshots that are gone. */
  async collect(isThere: (id: SnapshotId) => Promise<boolean>): Promise<void> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    for (const name of names) {
      const id = await this.find(name)
      if (id === null || !(await isThere(id))) await this.release(name, id)
    }
  }

  #path(name: string): string {
    return join(this.#directory, name)
  }
}
