import type { DiffOptions as DiffRequest, FileChange, Hearth } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { changedPaths, changeLines, contentLines } from '../output/change-lines.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { findSnapshot } from '../server/find-snapshot.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface DiffOptions extends ServerOptions {
  readonly since?: string
  readonly path?: readonly string[]
  /** `true` for the default size. */
  readonly content?: number | true
}

const CONTENT_BYTES = 64 * 1024

/** What changed in the files of a sandbox. */
export async function diff(name: string, options: DiffOptions): Promise<number> {
  return await interruptible(async (signal) => {
    const changes = await withServer(options, async (hearth) => {
      const sandbox = await findSandbox(hearth, name, signal)
      const since = options.since === undefined ? {} : { since: await sinceOf(hearth, options.since, signal) }
      return await sandbox.diff({
        ...since,
        ...(options.path === undefined ? {} : { paths: [...options.path] }),
        ...(options.content === undefined ? {} : { contentBytes: contentBytes(options.content) }),
        signal,
      })
    })
    await present(changes, options)
    return 0
  })
}

async function present(changes: readonly FileChange[], options: DiffOptions): Promise<void> {
  if (options.json === true) return await writeJson(changes.map(withContentAsText))
  if (options.quiet === true) return await write(process.stdout, changedPaths(changes))
  if (options.content === undefined) return await write(process.stdout, changeLines(changes))
  for (const change of changes) await write(process.stdout, changeLines([change]) + contentLines(change))
}

function contentBytes(asked: number | true): number {
  return asked === true ? CONTENT_BYTES : asked
}

/** As the API has it. */
function withContentAsText({ content, ...change }: FileChange): object {
  return content === undefined ? change : { ...change, content: Buffer.from(content).toString('base64') }
}

/** An identifier is not looked up: it may be the point of a fork, which is no snapshot of its own. */
async function sinceOf(hearth: Hearth, since: string, signal: AbortSignal): Promise<DiffRequest['since']> {
  if (since === 'template' || since === 'origin' || /^sn_.{20}$/.test(since)) return since
  return (await findSnapshot(hearth, since, signal)).id
}
