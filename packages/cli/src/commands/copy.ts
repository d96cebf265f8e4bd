import { HearthError, type Hearth } from '@hearth/sdk'
import { CopyProgress } from '../copy/copy-progress.ts'
import { parseEndpoint, type Endpoint } from '../copy/endpoint.ts'
import { DEFAULT_MOST_BYTES } from '../copy/most-bytes.ts'
import { localSource, remoteSource, standardInput, type Source } from '../copy/source.ts'
import { toLocal, toRemote, toStandardOutput } from '../copy/target.ts'
import { formatBytes } from '../output/table.ts'
import { writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface CopyOptions extends ServerOptions {
  readonly maxSize?: number
}

/** Files and directories into a sandbox, out of it, or from one to another. */
export async function copy(from: string, to: string, options: CopyOptions): Promise<number> {
  const source = parseEndpoint(from)
  const target = parseEndpoint(to)
  if (source.kind !== 'remote' && target.kind !== 'remote') {
    throw new HearthError('invalid_request', 'neither side of the copy is a sandbox', {
      suggestion: 'Write one of them as ID:/path.',
    })
  }
  if (target.kind === 'standard' && options.json === true) {
    throw new HearthError('invalid_request', '--json and - exclude each other', {
      suggestion: 'Copy into a file, or leave --json out: standard output is what is copied.',
    })
  }
  using progress = new CopyProgress(options.quiet === true || options.json === true)
  const place = await withServer(options, async (hearth) => {
    return await put(hearth, await open(hearth, source, progress), target, options, progress)
  })
  progress[Symbol.dispose]()
  const { entries, bytes, leftOut } = progress.summary
  // Standard output belongs to the copy when it is the target.
  if (target.kind === 'standard') return 0
  if (options.json === true) await writeJson({ from, to: place, entries, bytes, leftOut })
  else if (options.quiet !== true && process.stderr.isTTY) {
    process.stderr.write(`${place}: ${entries} ${entries === 1 ? 'entry' : 'entries'}, ${formatBytes(bytes)}\n`)
  }
  return 0
}

async function open(hearth: Hearth, source: Endpoint, progress: CopyProgress): Promise<Source> {
  switch (source.kind) {
    case 'standard':
      return standardInput()
    case 'local':
      return await localSource(source.path, progress)
    case 'remote':
      return await remoteSource(await findSandbox(hearth, source.sandbox), source.path)
  }
}

async function put(
  hearth: Hearth,
  source: Source,
  target: Endpoint,
  options: CopyOptions,
  progress: CopyProgress,
): Promise<string> {
  switch (target.kind) {
    case 'standard':
      return await toStandardOutput(source, progress)
    case 'local':
      return await toLocal(source, target.path, options.maxSize ?? DEFAULT_MOST_BYTES, progress)
    case 'remote': {
      const sandbox = await findSandbox(hearth, target.sandbox)
      return `${sandbox.id}:${await toRemote(source, sandbox, target.path, progress)}`
    }
  }
}
