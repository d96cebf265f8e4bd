import type { FetchMode } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { invocation } from '../output/invocation.ts'
import { presentList, presentOne } from '../output/present.ts'
import { Progress } from '../output/progress.ts'
import { table } from '../output/table.ts'
import { collectedLines, rowOf, workspaceFacts, workspaceView } from '../output/workspace-view.ts'
import { write, writeJson } from '../output/write.ts'
import { eachNamed } from '../server/each-named.ts'
import { findWorkspace, sourceOf } from '../server/find-workspace.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface NewWorkspaceOptions extends ServerOptions {
  readonly ref?: string
  readonly branch?: string
  readonly fetch?: FetchMode
  readonly secret?: string
  readonly disk?: number
}

/** A checkout of its own. */
export async function createWorkspace(source: string, options: NewWorkspaceOptions): Promise<number> {
  return await interruptible(async (signal) => {
    const { ref, branch, fetch, secret, disk: diskBytes } = options
    const made = await withServer(options, async (hearth) => {
      using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
      progress.say('making a workspace')
      const asked = {
        ...(await sourceOf(hearth, source, { signal })),
        ...withoutUndefined({ ref, branch, fetch, secret, diskBytes }),
      }
      return (await hearth.workspaces.create(asked, { signal })).info
    })
    await presentOne(options, { id: made.id, json: made, people: () => rowOf(workspaceView, made) })
    if (process.stdout.isTTY && options.json !== true && options.quiet !== true)
      process.stderr.write(`\nUse it: ${invocation()} create --workspace ${made.id}\n`)
    return 0
  })
}

export async function listWorkspaces(options: ServerOptions): Promise<number> {
  const workspaces = await withServer(options, async (hearth) => await hearth.workspaces.list())
  await presentList(options, workspaces.toReversed(), workspaceView)
  return 0
}

export async function getWorkspace(name: string, options: ServerOptions): Promise<number> {
  const { info } = await withServer(options, async (hearth) => await findWorkspace(hearth, name))
  await presentOne(options, { id: info.id, json: info, people: () => table(workspaceFacts(info)) })
  return 0
}

export async function pinWorkspaces(
  names: readonly string[],
  options: ServerOptions & { readonly off?: boolean },
): Promise<number> {
  return await eachNamed(names, options, workspaceView, async (hearth, name) => {
    return await (await findWorkspace(hearth, name)).pin(options.off !== true)
  })
}

export async function removeWorkspaces(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, null, async (hearth, name) => {
    const workspace = await findWorkspace(hearth, name)
    await workspace.remove()
    return { id: workspace.id, removed: true }
  })
}

export interface CollectOptions extends ServerOptions {
  readonly unused?: number
  readonly dirty?: boolean
  readonly workspaces?: boolean
  readonly dryRun?: boolean
}

/** Gives up what nobody has used for long. */
export async function collectWorkspaces(options: CollectOptions): Promise<number> {
  const { unused: unusedMs, dirty, workspaces, dryRun } = options
  const asked = withoutUndefined({ unusedMs, dirty, workspaces, dryRun })
  const collected = await withServer(options, async (hearth) => await hearth.workspaces.collect(asked))
  if (options.json === true) await writeJson(collected)
  else if (options.quiet === true)
    await write(
      process.stdout,
      [...collected.workspaces.map(({ id }) => id), ...collected.repositories].map((id) => `${id}\n`).join(''),
    )
  else await write(process.stdout, collectedLines(collected))
  return 0
}
