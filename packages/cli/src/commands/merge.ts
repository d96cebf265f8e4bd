import { HearthError, type MergeResult } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { changedPaths, changeLines } from '../output/change-lines.ts'
import { printable } from '../output/printable.ts'
import { write, writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface MergeOptions extends ServerOptions {
  readonly path?: readonly string[]
}

/** Brings what a fork changed back into its parent. Conflicts are listed, and fail the command. */
export async function merge(parentName: string, childName: string, options: MergeOptions): Promise<number> {
  return await interruptible(async (signal) => {
    const result = await withServer(options, async (hearth) => {
      const parent = await findSandbox(hearth, parentName, signal)
      const child = await findSandbox(hearth, childName, signal)
      return await parent.merge(child, { ...(options.path === undefined ? {} : { paths: [...options.path] }), signal })
    })
    if (options.json === true) await writeJson(result)
    else await write(process.stdout, textOf(result, options.quiet === true))
    const { length } = result.conflicts
    if (length === 0) return 0
    throw new HearthError('conflict', `nothing was merged: ${length === 1 ? '1 conflict' : `${length} conflicts`}`, {
      suggestion: 'Make both sides agree on these, or merge other paths alone with --path.',
    })
  })
}

function textOf({ applied, conflicts }: MergeResult, quiet: boolean): string {
  if (conflicts.length === 0) return quiet ? changedPaths(applied) : changeLines(applied)
  const lines = conflicts.map(({ path, reason }) => [printable(path), printable(reason)] as const)
  return lines.map(([path, reason]) => (quiet ? `${path}\n` : `C ${path}: ${reason}\n`)).join('')
}
