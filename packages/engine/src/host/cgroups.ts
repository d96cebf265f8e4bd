import { hash, randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CgroupLimits } from '../drivers/launch-plan.ts'
import type { CgroupHierarchy } from './facts.ts'

/** The cgroup directories of one sandbox: one in v2, one per controller in v1, none where they are not ours to make. */
export interface SandboxCgroup {
  readonly directories: readonly string[]
}

/** Room for the keeper, the runtime and the guest's supervisors next to what the sandbox itself may start. */
const PIDS_HEADROOM = 32
const CPU_PERIOD_MICROSECONDS = 100_000

/** What the names of all cgroups of a home begin with: several homes share the hierarchies of a host. */
export function cgroupMark(home: string): string {
  return hash('sha256', home).slice(0, 8)
}

/** Names new cgroups and knows what to write into them. The keeper makes and joins them, off the hot path. */
export class Cgroups {
  readonly #hierarchy: CgroupHierarchy
  readonly #mark: string
  /** Names that this process has given and not taken back. */
  readonly #held = new Set<string>()

  constructor(hierarchy: CgroupHierarchy, home: string) {
    this.#hierarchy = hierarchy
    this.#mark = cgroupMark(home)
  }

  /** Delegates the controllers to our own level. Needed once per process on v2; v1 has nothing to delegate. */
  async initialize(): Promise<void> {
    if (this.#hierarchy.kind !== 'v2') return
    const parent = join(this.#hierarchy.root, 'hearth')
    await mkdir(parent, { recursive: true })
    for (const directory of [this.#hierarchy.root, parent]) {
      await writeFile(join(directory, 'cgroup.subtree_control'), '+memory +pids +cpu')
    }
  }

  newName(): SandboxCgroup {
    const name = this.#mark + randomBytes(6).toString('hex')
    this.#held.add(name)
    return { directories: this.parents().map((parent) => join(parent, name)) }
  }

  /** Whether a process of this home has made it. */
  isOfHome(name: string): boolean {
    return name.startsWith(this.#mark)
  }

  /** Whether this process will remove it by itself, so that no sweep need look whether it is in use. */
  holds(name: string): boolean {
    return this.#held.has(name)
  }

  /** What is left of it is the sweep's. */
  release(cgroup: SandboxCgroup): void {
    for (const directory of cgroup.directories) this.#held.delete(basename(directory))
  }

  async remove(cgroup: SandboxCgroup): Promise<void> {
    this.release(cgroup)
    await removeCgroup(cgroup)
  }

  /** The directories that hold the cgroups of all sandboxes; the one that counts memory first. */
  parents(): string[] {
    if (this.#hierarchy.kind === 'none') return []
    const roots =
      this.#hierarchy.kind === 'v2'
        ? [this.#hierarchy.root]
        : [this.#hierarchy.memory, this.#hierarchy.pids, this.#hierarchy.cpu].filter((path) => path !== null)
    return roots.map((root) => join(root, 'hearth'))
  }

  /** Pairs of file and text that put the limits in force. */
  limitWrites(cgroup: SandboxCgroup, limits: CgroupLimits): string[] {
    const quota = String(Math.round(limits.cpus * CPU_PERIOD_MICROSECONDS))
    const pids = String(limits.pids + PIDS_HEADROOM)
    const [first, second, third] = cgroup.directories
    if (this.#hierarchy.kind === 'v2' && first !== undefined) {
      return [
        ...pair(first, 'memory.max', String(limits.memoryBytes)),
        ...(existsSync(join(this.#hierarchy.root, 'hearth', 'memory.swap.max'))
          ? pair(first, 'memory.swap.max', '0')
          : []),
        ...pair(first, 'pids.max', pids),
        ...pair(first, 'cpu.max', `${quota} ${CPU_PERIOD_MICROSECONDS}`),
      ]
    }
    if (this.#hierarchy.kind !== 'v1') return []
    const byController = new Map<string | null, string | undefined>(
      [this.#hierarchy.memory, this.#hierarchy.pids, this.#hierarchy.cpu]
        .filter((path) => path !== null)
        .map((path, index) => [path, [first, second, third][index]]),
    )
    const memory = byController.get(this.#hierarchy.memory)
    const pidsDirectory = byController.get(this.#hierarchy.pids)
    const cpu = byController.get(this.#hierarchy.cpu)
    return [
      ...(memory === undefined ? [] : pair(memory, 'memory.limit_in_bytes', String(limits.memoryBytes))),
      ...(memory === undefined || !this.#accountsSwap()
        ? []
        : pair(memory, 'memory.memsw.limit_in_bytes', String(limits.memoryBytes))),
      ...(pidsDirectory === undefined ? [] : pair(pidsDirectory, 'pids.max', pids)),
      ...(cpu === undefined
        ? []
        : [
            ...pair(cpu, 'cpu.cfs_period_us', String(CPU_PERIOD_MICROSECONDS)),
            ...pair(cpu, 'cpu.cfs_quota_us', quota),
          ]),
    ]
  }

  #accountsSwap(): boolean {
    return (
      this.#hierarchy.kind === 'v1' &&
      this.#hierarchy.memory !== null &&
      existsSync(join(this.#hierarchy.memory, 'memory.memsw.limit_in_bytes'))
    )
  }

  /** How often the kernel killed a process in there for want of memory. */
  oomCounter(cgroup: SandboxCgroup): OomCounter {
    const file = this.#hierarchy.kind === 'v2' ? 'memory.events' : 'memory.oom_control'
    const directory = cgroup.directories[0]
    return new OomCounter(directory === undefined ? null : join(directory, file))
  }

  /** Memory in use without page cache that could be dropped at once; null where nothing counts it. */
  async memoryBytes(cgroup: SandboxCgroup): Promise<number | null> {
    const usage = await this.#read(cgroup, this.#hierarchy.kind === 'v2' ? 'memory.current' : 'memory.usage_in_bytes')
    if (usage === '') return null
    const inactive = /^(?:total_)?inactive_file (\d+)$/m.exec(await this.#read(cgroup, 'memory.stat'))?.[1] ?? '0'
    return Math.max(0, Number(usage) - Number(inactive))
  }

  async #read(cgroup: SandboxCgroup, file: string): Promise<string> {
    const directory = cgroup.directories[0]
    if (directory === undefined) return ''
    return await readFile(join(directory, file), 'utf8').catch(absentIsEmpty)
  }
}

/** Keeps the kernel's file open, because reading it then costs microseconds, and every command does. */
export class OomCounter {
  readonly #buffer = Buffer.allocUnsafe(512)
  #descriptor: number | null
  #last = 0

  constructor(path: string | null) {
    this.#descriptor = path === null ? null : openSync(path, 'r')
  }

  read(): number {
    if (this.#descriptor === null) return this.#last
    try {
      const length = readSync(this.#descriptor, this.#buffer, 0, this.#buffer.length, 0)
      this.#last = Number(/^oom_kill (\d+)$/m.exec(this.#buffer.toString('latin1', 0, length))?.[1] ?? 0)
    } catch (error) {
      // The cgroup went with its sandbox, whose end says more than this could.
      if ((error as NodeJS.ErrnoException).code !== 'ENODEV') throw error
    }
    return this.#last
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }
}

/** Kills what is still in there, which after an orderly end is nothing, and removes the directories. */
async function removeCgroup(cgroup: SandboxCgroup): Promise<void> {
  for (const directory of cgroup.directories) {
    for (let attempt = 0; ; attempt++) {
      const left = await readFile(join(directory, 'cgroup.procs'), 'utf8').catch(absentIsEmpty)
      for (const pid of left.split('\n').filter(Boolean)) killQuietly(Number(pid))
      const error = await rmdir(directory).then(
        () => null,
        (cause: NodeJS.ErrnoException) => cause,
      )
      if (error === null || error.code === 'ENOENT') break
      if (error.code !== 'EBUSY' || attempt >= 50) throw error
      await sleep(2 * (attempt + 1))
    }
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function absentIsEmpty(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT' || error.code === 'ENODEV') return ''
  throw error
}

function pair(directory: string, file: string, text: string): [string, string] {
  return [join(directory, file), text]
}
