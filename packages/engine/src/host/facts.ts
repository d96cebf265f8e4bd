import { access, constants, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

/** Which cgroup hierarchies can hold sandboxes here. */
export type CgroupHierarchy =
  | { readonly kind: 'v1'; readonly memory: string | null; readonly pids: string | null; readonly cpu: string | null }
  | { readonly kind: 'v2'; readonly root: string }
  | { readonly kind: 'none'; readonly reason: string }

/** What this host is, read once. */
export interface HostFacts {
  readonly root: boolean
  readonly cgroups: CgroupHierarchy
  readonly cores: number
}

export async function readHostFacts(): Promise<HostFacts> {
  return { root: process.getuid?.() === 0, cgroups: await findCgroups(), cores: availableParallelism() }
}

async function findCgroups(): Promise<CgroupHierarchy> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '))
  const unified = mounts.find(([, , type]) => type === 'cgroup2')?.[1]
  const controllers = unified === undefined ? '' : await readFile(`${unified}/cgroup.controllers`, 'utf8')
  if (unified !== undefined && ['memory', 'pids', 'cpu'].every((name) => controllers.split(/\s/).includes(name))) {
    const own = await ownUnifiedDirectory(unified)
    return (await writable(`${own}/cgroup.subtree_control`))
      ? { kind: 'v2', root: own }
      : { kind: 'none', reason: 'the cgroup is not delegated to this user' }
  }
  const hierarchy = (name: string): string | null =>
    mounts.find(([, , type, options]) => type === 'cgroup' && options?.split(',').includes(name) === true)?.[1] ?? null
  const v1 = { kind: 'v1', memory: hierarchy('memory'), pids: hierarchy('pids'), cpu: hierarchy('cpu') } as const
  const present = [v1.memory, v1.pids, v1.cpu].filter((path) => path !== null)
  if (present.length === 0) return { kind: 'none', reason: 'no cgroup hierarchy is mounted' }
  const allWritable = await Promise.all(present.map(writable))
  return allWritable.every(Boolean) ? v1 : { kind: 'none', reason: 'the cgroup hierarchies belong to root' }
}

/** Root uses the top; a user uses the cgroup that was delegated to it. */
async function ownUnifiedDirectory(mount: string): Promise<string> {
  if (process.getuid?.() === 0) return mount
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1] ?? '/'
  return `${mount}${own}`
}

async function writable(path: string): Promise<boolean> {
  return await access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
}
