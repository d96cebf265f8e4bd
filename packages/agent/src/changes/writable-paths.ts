import { posix } from 'node:path'
import { isBelow, type Grant } from '@hearth/contract'

const SHOWN = 20
const SHOWN_CHARACTERS = 200

/** Files of a working directory that are not below what may be changed. */
export function pathsOutside(
  files: readonly { readonly path: string }[],
  workdir: string,
  writable: Grant['paths']['write'],
): string[] {
  if (writable === 'any') return []
  return files
    .map(({ path }) => path)
    .filter((path) => !writable.some((granted) => isBelow(posix.join(workdir, path), granted)))
}

/** A few of them in full; names come out of a sandbox and may be of any length. */
export function listed(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN).map((path) => JSON.stringify(path.slice(0, SHOWN_CHARACTERS)).slice(1, -1))
  const rest = paths.length - shown.length
  return shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}
