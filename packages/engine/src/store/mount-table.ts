import { readFile, realpath } from 'node:fs/promises'

/** A line of the kernel's table of mounts, as this process sees it. */
export interface Mount {
  /** The number of the file system, which all its mounts share, also those of its subvolumes. */
  readonly device: string
  /** What of the file system is mounted: `/` is all of it. */
  readonly root: string
  readonly target: string
  readonly options: readonly string[]
  readonly type: string
  readonly source: string
}

export async function readMounts(): Promise<Mount[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n')
  return lines.filter((line) => line !== '').map(parseMount)
}

/** What is mounted at exactly this path, the topmost of several; null when the path is no mount point. */
export async function mountAt(path: string): Promise<Mount | null> {
  const target = await realpath(path).catch(() => path)
  return (await readMounts()).findLast((mount) => mount.target === target) ?? null
}

export function parseMount(line: string): Mount {
  const [before = '', after = ''] = line.split(' - ')
  const [, , device = '', root = '', target = '', options = ''] = before.split(' ')
  const [type = '', source = ''] = after.split(' ')
  const plain = [root, target, source].map(unescape) as [string, string, string]
  return { device, root: plain[0], target: plain[1], options: options.split(','), type, source: plain[2] }
}

/** The kernel writes blanks and the like in a path as a backslash and three octal digits. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
