import type { DiffOptions as DiffRequest, Hearth } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { changedPaths, changeLines } from '../output/change-lines.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { findSnapshot } from '../server/find-snapshot.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface DiffOptions extends ServerOptions {
  readonly since?: string
  readonly path?: readonly string[]
}

/** What changed in the files of a sandbox. */
export async function diff(name: string, options: DiffOptions): Promise<number> {
  return await interruptible(async (signal) => {
    const changes = await withServer(options, async (hearth) => {
      const sandbox = await findSandbox(hearth, name, signal)
      const since = options.since === undefined ? {} : { since: await sinceOf(hearth, options.since, signal) }
      return await sandbox.diff({
        ...since,
        ...(options.path === undefined ? {} : { paths: [...options.path] }),
        signal,
      })
    })
    if (options.json === true) await writeJson(changes)
    else await write(process.stdout, options.quiet === true ? changedPaths(changes) : changeLines(changes))
    return 0
  })
}

/** An identifier is not looked up: it may be the point of a fork, which is no snapshot of its own. */
async function sinceOf(hearth: Hearth, since: string, signal: AbortSignal): Promise<DiffRequest['since']> {
  if (since === 'template' || since === 'origin' || /^sn_.{20}$/.test(since)) return since
  return (await findSnapshot(hearth, since, signal)).id
}
