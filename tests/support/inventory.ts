import { expect } from 'vitest'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What a sandbox could leave behind on the host. Equal before and after means that nothing leaked. */
export interface Inventory {
  readonly descriptors: number
  /** Command lines of processes that belong to this home or guest. */
  readonly processes: readonly string[]
  readonly mounts: readonly string[]
  readonly cgroups: readonly string[]
  readonly directories: readonly string[]
}

/** `marks` are the paths by which what belongs to a Hearth is recognised. */
export function takeInventory(home: string, marks: readonly string[]): Inventory {
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    processes: hostProcesses([home, ...marks]),
    mounts: readFileSync('/proc/self/mounts', 'utf8')
      .split('\n')
      .filter((line) => line.includes(home)),
    cgroups: ourCgroups(),
    directories: ['sandboxes', 'ids', 'store/areas'].flatMap((name) =>
      list(`${home}/${name}`).map((entry) => `${name}/${entry}`),
    ),
  }
}

function hostProcesses(marks: readonly string[]): string[] {
  const found: string[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) continue
    const command = describeProcess(name)
    if (command !== null && marks.some((mark) => command.includes(mark))) found.push(command)
  }
  return found.sort()
}

/** Null when it has ended meanwhile. */
function describeProcess(pid: string): string | null {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return `${readlinkSync(`/proc/${pid}/exe`)} ${command}`
  } catch {
    return null
  }
}

function ourCgroups(): string[] {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2')
    .map(([, path]) => path ?? '')
  return mounts.flatMap((mount) =>
    list(`${mount}/hearth`)
      .filter((name) => /^[0-9a-f]{20}$/.test(name))
      .map((name) => `${mount}/hearth/${name}`),
  )
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
  while (JSON.stringify(take()) !== JSON.stringify(expected) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(take()).toEqual(expected)
}
