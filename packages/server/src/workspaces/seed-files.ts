import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { git } from '@hearth/engine/git'
import { AUTHOR } from './git/commit.ts'

const execute = promisify(execFile)

/** Of the user of our own templates; whoever else works in a sandbox may write too. */
const OWNER = 1000

/** Files keep their times and sizes when a checkout is copied, but not always what else the kernel knows of them. */
const CONFIGURATION = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
	checkStat = minimal
	trustctime = false
[user]
	name = ${AUTHOR.name}
	email = ${AUTHOR.email}
`

/**
 * Puts a whole checkout of a commit, with a repository of its own, into an empty directory; or turns the checkout of another commit into it,
 * in time that depends on what differs. Its packs hold the history of the commit and nothing else of the cache.
 */
export async function fillSeed(cache: string, path: string, commit: string, from: string | null): Promise<void> {
  const directory = join(path, '.git')
  if (from === null) await makeRepository(directory)
  const wanted = from === null ? `${commit}\n` : `${commit}\n^${from}\n`
  const pack = ['pack-objects', '--quiet', '--revs', '--delta-base-offset', join(directory, 'objects/pack/pack')]
  // It is written where it stays: a subvolume is a file system of its own, into which nothing can be moved.
  const reach = { protocols: [], environment: { GIT_ALTERNATE_OBJECT_DIRECTORIES: join(cache, 'objects') } }
  await git(pack, { directory, reach, input: [Buffer.from(wanted)] })
  const checkout = from === null ? ['read-tree', '-m', '-u', commit] : ['read-tree', '-m', '-u', from, commit]
  await git(checkout, { directory, workTree: path, openToAll: true })
  await writeFile(join(directory, 'HEAD'), `${commit}\n`, { mode: 0o666 })
  await giveAway(path)
}

async function makeRepository(directory: string): Promise<void> {
  for (const name of ['objects/pack', 'objects/info', 'refs/heads', 'refs/tags', 'info']) {
    await mkdir(join(directory, name), { recursive: true })
  }
  await writeFile(join(directory, 'config'), CONFIGURATION)
  await writeFile(join(directory, 'HEAD'), 'ref: refs/heads/main\n')
  await execute('chmod', ['-R', 'a+rwX', directory])
}

/** Makes a copy of a checkout that of a workspace, on a branch of its own. */
export async function enterBranch(path: string, branch: string, commit: string): Promise<void> {
  const directory = join(path, '.git')
  const reference = join(directory, 'refs/heads', branch)
  const made = await mkdir(dirname(reference), { recursive: true })
  await writeFile(reference, `${commit}\n`, { mode: 0o666 })
  await writeFile(join(directory, 'HEAD'), `ref: refs/heads/${branch}\n`)
  const below = [reference, ...(made === undefined ? [] : [made])]
  await execute('chmod', ['-R', 'a+rwX', ...below])
  if (process.geteuid?.() === 0) await execute('chown', ['-hR', `${OWNER}:${OWNER}`, ...below])
}

/** What an unprivileged server makes is its own, and so is what its sandboxes make. */
async function giveAway(path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return
  await execute('chown', ['-hR', '--from=0:0', `${OWNER}:${OWNER}`, path])
}
