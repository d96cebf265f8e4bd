import { posix } from 'node:path'
import { looksLikeTest } from '../changes/changes.ts'

/** What programs are run by where a command does not name it. */
const RUN_BY: readonly (readonly [command: RegExp, files: readonly string[]])[] = [
  [/(^|[\s;&|(])(g?make)(\s|$)/, ['Makefile', 'makefile', 'GNUmakefile']],
  [/(^|[\s;&|(])just(\s|$)/, ['justfile', 'Justfile', '.justfile']],
]

/** Where runners and what they are made of lie: a program there is found before any other of its name. */
const INSTALLED = /(^|\/)(node_modules|site-packages|\.?venv)\//

const CHECKING = /(^|[._-])(verify|checks?|ci|tests?|specs?)([._-]|$)/i

/** Files that a command names and that check something by their name, or that it is run by: a change of theirs would be a change of the check. */
export function pathsOfCommand(command: string): string[] {
  const words = command.split(/[\s;&|()<>"'`=]+/).map((word) => word.replace(/^\.\//, ''))
  const named = words.filter((word) => word.includes('.') && CHECKING.test(posix.basename(word)))
  return [...named, ...RUN_BY.flatMap(([pattern, files]) => (pattern.test(command) ? files : []))]
}

/** Which paths are judged as they are on the base. */
export function guard(protect: readonly string[]): (path: string) => boolean {
  const exact = new Set(protect.filter((path) => !path.endsWith('/')))
  const below = protect.filter((path) => path.endsWith('/'))
  return (path) =>
    looksLikeTest(path) ||
    INSTALLED.test(path) ||
    exact.has(path) ||
    below.some((directory) => path.startsWith(directory))
}
