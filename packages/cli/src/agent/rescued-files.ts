import { createWriteStream } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AgentResult } from '@hearth/agent'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/sdk'
import { printable } from '../output/printable.ts'
import { hearthHome } from '../server/home.ts'
import { COPY_MARK } from './carried-files.ts'

const GONE: ReadonlySet<string> = new Set(['sandbox_not_found', 'sandbox_ended'])

export function isGone(error: unknown): boolean {
  return HearthError.isInstance(error) && GONE.has(error.code)
}

/**
 * Whether a sandbox is the only place where the work of a run is, since no patch could be made of it. Then it stays, and people are told how to
 * get the files. What was done in a workspace of the server is safe there.
 */
export async function staysWithFiles(hearth: Hearth, run: string, sandbox: string, workdir: string): Promise<boolean> {
  const { workspace, metadata } = await hearth.runs.get(run)
  if (workspace !== null && !(COPY_MARK in metadata)) return false
  try {
    const { id, info } = await hearth.get(sandbox)
    const until = info.expiresAt === null ? 'it is removed' : info.expiresAt.toISOString()
    process.stderr.write(
      `there is no patch, so that sandbox ${id} was left as it is, until ${until}; get its files with\n` +
        `  hearth cp ${id}:${printable(workdir)} DIRECTORY\n`,
    )
    return true
  } catch (error) {
    if (isGone(error)) return false
    throw error
  }
}

/** A patch that is too large to be kept with its run, where nobody else gets it. */
export async function savePatch(run: string, { diff }: Pick<AgentResult, 'diff'>): Promise<void> {
  if (!diff.available || diff.patch.length <= BOUNDS.runPatchBytes) return
  const file = await rescuedFile(`${run}.patch`)
  await writeFile(file, diff.patch, { mode: 0o600 })
  process.stderr.write(`the patch is too large to be kept with the run and was written to ${file}\n`)
}

async function rescuedFile(name: string): Promise<string> {
  const directory = join(hearthHome(), 'rescued')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return join(directory, name)
}

/** Of a sandbox that ends with this process the files are written to one of this machine. */
export async function saveFiles(sandbox: Sandbox, workdir: string): Promise<void> {
  const file = await rescuedFile(`${sandbox.id}.tar`)
  try {
    await pipeline(Readable.from(sandbox.files.archive(workdir)), createWriteStream(file, { mode: 0o600 }))
  } catch (error) {
    await rm(file, { force: true })
    if (isGone(error)) return
    throw error
  }
  process.stderr.write(`there is no patch, so that all files were written to ${file}\n`)
}
