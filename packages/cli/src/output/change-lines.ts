import type { FileChange } from '@hearth/sdk'
import { printable } from './printable.ts'
import { formatBytes } from './table.ts'

const LETTERS = { added: 'A', changed: 'M', removed: 'D' } as const
/** `1023.9 KiB` */
const WIDEST_SIZE = 10

/** `A  1.5 KiB /etc/motd`: a line for each, and nothing for none. Directories end with a slash and have no size. */
export function changeLines(changes: readonly FileChange[]): string {
  return changes.map((change) => `${LETTERS[change.change]} ${sizeOf(change)} ${pathOf(change)}\n`).join('')
}

/** The paths alone. */
export function changedPaths(changes: readonly FileChange[]): string {
  return changes.map(({ path }) => `${printable(path)}\n`).join('')
}

/** What is in a file that was added or changed, each line behind a bar. */
export function contentLines({ change, type, content }: FileChange): string {
  if (type !== 'file' || change === 'removed') return ''
  if (content === undefined) return '  (larger than what was asked for)\n'
  if (content.includes(0)) return '  (not text)\n'
  const text = new TextDecoder().decode(content)
  if (text === '') return ''
  const lines = (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
  return lines.map((line) => `  | ${line.split('\t').map(printable).join('\t')}\n`).join('')
}

function sizeOf({ type, sizeBytes }: FileChange): string {
  return (type === 'directory' ? '-' : formatBytes(sizeBytes)).padStart(WIDEST_SIZE)
}

function pathOf({ path, type }: FileChange): string {
  return type === 'directory' ? `${printable(path)}/` : printable(path)
}
