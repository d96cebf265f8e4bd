import { closeSync, openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { firstOutput } from './first-output.ts'
import type { FloorRoot } from './floor-root.ts'
import { commandOf, liveRuntime } from './live-runtime.ts'

/** `bwrap` with the options of a live sandbox, around `echo`. */
export function bubblewrapFloor(hearth: Hearth, sandbox: Sandbox, root: FloorRoot): () => Promise<number> {
  const { argv } = commandOf(liveRuntime(hearth, sandbox), /^bwrap$/)
  const options = argv.slice(0, argv.lastIndexOf('--')).map((word) => relocate(word, hearth, root))
  // In a sandbox the keeper has made the user namespace already.
  const command = [
    options[0] ?? 'bwrap',
    '--unshare-user',
    '--uid',
    '0',
    '--gid',
    '0',
    ...options.slice(1),
    '--',
    '/bin/echo',
    'ready',
  ]
  const filter = findFilter(hearth.paths.cache)
  const descriptor = Number(options[options.indexOf('--seccomp') + 1])
  return async () => {
    const file = openSync(filter, 'r')
    const extra = Array.from({ length: descriptor - 2 }, (_, index) =>
      index === descriptor - 3 ? file : ('ignore' as const),
    )
    return await firstOutput(command, extra).finally(() => closeSync(file))
  }
}

function relocate(word: string, hearth: Hearth, root: FloorRoot): string {
  if (/\/(hearth-)?stage\/root$/.test(word)) return root.root
  if (/\/(hearth-)?stage\/guest\//.test(word)) return hearth.paths.guest
  return word
}

function findFilter(cache: string): string {
  const found = readdirSync(cache, { recursive: true, encoding: 'utf8' }).find((name) => name.endsWith('.bpf'))
  if (found === undefined) throw new Error('there is no seccomp filter in the cache')
  return join(cache, found)
}
