import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Knows every process that this one started, however often it forked away: all inherit a control group of a hierarchy
 * that Hearth does not use. On a host without one (pure version 2, or not root) only direct marks can be searched for.
 */
export class ProcessTracker {
  readonly #group: string | null

  constructor() {
    const hierarchy = process.getuid?.() === 0 ? unusedHierarchy() : null
    this.#group = hierarchy === null ? null : join(hierarchy, `hearth-tests-${process.pid}`)
    if (hierarchy === null || this.#group === null) return
    removeEmptyGroups(hierarchy)
    mkdirSync(this.#group, { recursive: true })
    writeFileSync(join(this.#group, 'cgroup.procs'), String(process.pid))
  }

  get tracks(): boolean {
    return this.#group !== null
  }

  /** Command lines of what lives, this process left out. */
  list(): string[] {
    if (this.#group === null) return []
    const pids = readFileSync(join(this.#group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)
    return pids
      .filter((pid) => Number(pid) !== process.pid)
      .flatMap((pid) => commandLine(pid) ?? [])
      .sort()
  }
}

/** A process cannot remove the group that it ends in, so the next one does. */
function removeEmptyGroups(hierarchy: string): void {
  for (const name of readdirSync(hierarchy).filter((entry) => entry.startsWith('hearth-tests-'))) {
    try {
      rmdirSync(join(hierarchy, name))
    } catch (error) {
      // In use, or removed by another one just now.
      if (!['EBUSY', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    }
  }
}

function commandLine(pid: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    // Ended since it was listed.
    return null
  }
}

function unusedHierarchy(): string | null {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const found = mounts.find(
    ([, , type, options]) => type === 'cgroup' && /\b(freezer|perf_event|net_cls)\b/.test(options ?? ''),
  )
  return found?.[1] ?? null
}
