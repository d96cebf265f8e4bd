import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A root like that of a sandbox, mounted once: the floor does not pay for it. */
export interface FloorRoot extends Disposable {
  readonly directory: string
  readonly root: string
}

export function floorRoot(cache: string): FloorRoot {
  const directory = mkdtempSync(join(tmpdir(), 'hearth-floor-'))
  const lower = newestHostRoot(cache)
  const [root = '', upper = '', work = ''] = ['root', 'tmp/upper', 'tmp/work'].map((name) => join(directory, name))
  mkdirSync(join(directory, 'tmp'))
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(directory, 'tmp')])
  for (const path of [root, upper, work]) mkdirSync(path)
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=${lower},upperdir=${upper},workdir=${work}`, root])
  return {
    directory,
    root,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['-l', root])
      execFileSync('umount', ['-l', join(directory, 'tmp')])
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function newestHostRoot(cache: string): string {
  const roots = join(cache, 'host-roots')
  const name = readdirSync(roots).find((entry) => /^[0-9a-f]+$/.test(entry))
  if (name === undefined) throw new Error('no sandbox from the host template was made yet')
  return join(roots, name)
}
