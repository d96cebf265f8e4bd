import { expect } from 'vitest'
import { cgroupMark } from '../../packages/engine/src/host/cgroups.ts'
import { ProcessTracker } from './process-tracker.ts'
import { readdirSync, readFileSync } from 'node:fs'

/** What a sandbox could leave behind on the host. Equal before and after means that nothing leaked. */
export interface Inventory {
  readonly descriptors: number
  /** Command lines of what this process started, directly or not. */
  readonly processes: readonly string[]
  readonly mounts: readonly string[]
  /** Those of this home that nothing runs in. */
  readonly emptyCgroups: readonly string[]
  readonly directories: readonly string[]
}

const tracker = new ProcessTracker()

export function takeInventory(home: string): Inventory {
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    processes: tracker.list(),
    mounts: readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(home)),
    emptyCgroups: emptyCgroups(cgroupMark(home)),
    directories: ['sandboxes', 'ids', 'pool', 'store/areas', 'store/snapshots', 'store/volumes'].flatMap((name) =>
      list(`${home}/${name}`).map((entry) => `${name}/${entry}`),
    ),
  }
}

function emptyCgroups(mark: string): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, path]) => path ?? '')
  return mounts
    .flatMap((mount) =>
      list(`${mount}/hearth`)
        .filter((name) => name.startsWith(mark))
        .map((name) => `${mount}/hearth/${name}`),
    )
    .filter(isEmpty)
}

function isEmpty(cgroup: string): boolean {
  try {
    return readFileSync(`${cgroup}/cgroup.procs`, 'utf8') === ''
  } catch {
    // Removed since it was listed.
    return false
  }
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** What ends soon but not at once (an exiting process, a closing descriptor) gets a moment to be gone. */
export async function eventuallyEqual(take: () => Inventory, expected: Inventory, timeoutMs = 5000): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const found = take()
    if (JSON.stringify(found) === JSON.stringify(expected)) return
    if (Date.now() > deadline) return expect(found).toEqual(expected)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
