import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { git } from '@hearth/engine/git'
import { listed } from '../changes/writable-paths.ts'

/**
 * A tree with a change in it that was made to an earlier one, on the host, in a git index: lines that only one side changed are that side's. Throws
 * `conflict`, with the files, when both changed the same.
 */
export async function threeWay(directory: string, tree: string, patch: Uint8Array): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'hearth-index-'))
  try {
    const options = { directory, indexFile: join(place, 'index') }
    await git(['read-tree', tree], options)
    await apply(patch, options)
    return (await git(['write-tree'], options)).toString().trim()
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

async function apply(patch: Uint8Array, options: { directory: string; indexFile: string }): Promise<void> {
  const failure = (problem: string): HearthError => new HearthError('conflict', problem.slice(0, 500))
  try {
    await git(['apply', '--cached', '--3way', '--whitespace=nowarn', '-'], { ...options, input: [patch], failure })
  } catch (error) {
    const unmerged = (await git(['ls-files', '--unmerged', '-z'], options)).toString().split('\0')
    const paths = new Set(unmerged.filter((line) => line !== '').map((line) => line.slice(line.indexOf('\t') + 1)))
    if (paths.size === 0) throw error
    throw new HearthError('conflict', `both sides changed ${listed([...paths])}`, { cause: error })
  }
}
