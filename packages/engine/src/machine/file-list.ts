import { HearthError, type FileInfo } from '@hearth/contract'
import type { Link } from '../link/link.ts'
import { fileInfo } from './file-info.ts'

/** Entries of one listing. A guest could go on for ever. */
const ENTRIES = 500_000

/** Everything below a directory down to a depth, sorted by path. */
export function listFiles(link: Link, path: string, depth: number): Promise<FileInfo[]> {
  return new Promise((resolve, reject: (error: HearthError) => void) => {
    const entries: FileInfo[] = []
    const channel = link.open(
      'List',
      { path, depth },
      {
        Entry: (entry, _stable, creditBytes) => {
          entries.push(fileInfo(entry))
          channel.grant(creditBytes)
          if (entries.length > ENTRIES)
            channel.fail(
              new HearthError('too_many', `more than ${ENTRIES} entries below ${path}`, {
                suggestion: 'List a smaller directory or fewer levels.',
              }),
            )
        },
        Done: () =>
          resolve(entries.toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0))),
        ended: reject,
      },
    )
  })
}
