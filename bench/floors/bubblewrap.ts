import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { FloorHelper } from './floor-helper.ts'
import type { FloorRoot } from './floor-root.ts'
import { commandOf, liveRuntime } from './live-runtime.ts'

/** `bwrap` with the options of a live sandbox, around `echo`. */
export function bubblewrapFloor(
  hearth: Hearth,
  sandbox: Sandbox,
  root: FloorRoot,
  helper: FloorHelper,
): () => Promise<number> {
  const { argv } = commandOf(liveRuntime(hearth, sandbox), /^bwrap$/)
  const [program = 'bwrap', ...options] = argv
    .slice(0, argv.lastIndexOf('--'))
    .map((word) => relocate(word, hearth, root))
  // In a sandbox the keeper has made the user namespace already.
  const own = ['--unshare-user', '--uid', '0', '--gid', '0']
  const command = [program, ...own, ...options, '--', '/bin/echo', 'ready']
  const descriptor = Number(options[options.indexOf('--seccomp') + 1])
  const files = [{ descriptor, path: findFilter(hearth.paths.cache) }]
  return async () => await helper.measure({ argv: command, files, until: 'output' })
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
