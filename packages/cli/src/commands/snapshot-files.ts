import { HearthError, type Hearth } from '@hearth/sdk'
import { CopyProgress } from '../copy/copy-progress.ts'
import { DEFAULT_MOST_BYTES } from '../copy/most-bytes.ts'
import { localSource, standardInput, type Source } from '../copy/source.ts'
import { toLocal, toStandardOutput } from '../copy/target.ts'
import { interruptible } from '../interruptible.ts'
import { presentOne } from '../output/present.ts'
import { snapshotRow } from '../output/snapshot-view.ts'
import { formatBytes } from '../output/table.ts'
import { writeJson } from '../output/write.ts'
import { findSnapshot } from '../server/find-snapshot.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface ExportOptions extends ServerOptions {
  readonly maxSize?: number
}

/** A snapshot as one file, for another host. What breaks off leaves no file. */
export async function exportSnapshot(name: string, file: string, options: ExportOptions): Promise<number> {
  return await interruptible(async (signal) => {
    using progress = new CopyProgress(options.quiet === true || options.json === true)
    const { id, place } = await withServer(options, async (hearth) => {
      const source = await exported(hearth, name, signal)
      const most = options.maxSize ?? DEFAULT_MOST_BYTES
      const written = file === '-' ? toStandardOutput(source, progress) : toLocal(source, file, most, progress)
      return { id: source.id, place: await written }
    })
    progress[Symbol.dispose]()
    const { bytes } = progress.summary
    // Standard output belongs to the snapshot when it is the target.
    if (file === '-') return 0
    if (options.json === true) await writeJson({ snapshot: id, file: place, bytes })
    else if (options.quiet !== true && process.stderr.isTTY) process.stderr.write(`${place}: ${formatBytes(bytes)}\n`)
    return 0
  })
}

async function exported(
  hearth: Hearth,
  name: string,
  signal: AbortSignal,
): Promise<Source & { kind: 'file'; id: string }> {
  const { id } = await findSnapshot(hearth, name, signal)
  const content = await hearth.snapshots.export(id, { signal })
  // It may hold the memory of processes, and with it their secrets: for its owner alone.
  const mode = 0o600
  return {
    kind: 'file',
    id,
    name: `${id}.snapshot`,
    contentsOnly: false,
    mode,
    modifiedMs: Date.now(),
    content: () => content,
  }
}

export interface ImportOptions extends ServerOptions {
  readonly name?: string
}

/** What `export` gave, here or on another host, as a new snapshot. */
export async function importSnapshot(file: string, options: ImportOptions): Promise<number> {
  return await interruptible(async (signal) => {
    using progress = new CopyProgress(options.quiet === true || options.json === true)
    const source = file === '-' ? standardInput() : await localSource(file, progress)
    if (source.kind !== 'file') throw new HearthError('is_a_directory', `${file} is a directory`)
    const made = await withServer(options, async (hearth) => {
      const name = options.name === undefined ? {} : { name: options.name }
      return await hearth.snapshots.import(source.content(), { ...name, signal })
    })
    progress[Symbol.dispose]()
    await presentOne(options, { id: made.id, json: made, people: () => snapshotRow(made) })
    return 0
  })
}
