import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from './git-process.ts'

/** What programs leave behind by running, and nobody means to change. */
const LEAVINGS = ['__pycache__/', '*.pyc', '.pytest_cache/', '.mypy_cache/', 'node_modules/'] as const

/** A repository without files, without hooks, and with nothing of the host's templates. Does nothing when it is there already. */
export async function ensureBareRepository(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (await isRepository(directory)) return
  await git(['init', '--bare', '--quiet', '--template=', '--initial-branch=main'], { directory })
  await mkdir(join(directory, 'info'), { recursive: true })
  await writeFile(join(directory, 'info', 'exclude'), LEAVINGS.map((rule) => `${rule}\n`).join(''))
}

async function isRepository(directory: string): Promise<boolean> {
  try {
    await stat(join(directory, 'HEAD'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
