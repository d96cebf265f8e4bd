import { readFile } from 'node:fs/promises'

/**
 * Whether the file system that is mounted there lies in a file, as a store that the set-up made does. Writing to its own page cache takes three
 * times as long as going past it, to that of the file system below; on a disk of its own that would take as long as the disk does.
 */
export async function isLoopMount(path: string): Promise<boolean> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '))
  return mounts.some(([source, target]) => target === path && source?.startsWith('/dev/loop') === true)
}
