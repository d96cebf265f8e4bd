import { readFileSync, statfsSync } from 'node:fs'
import { HearthError } from '@hearth/contract'

const MiB = 1024 ** 2

/** What must stay free on a host for itself and for the sandboxes that run on it already. */
export interface AdmissionLimits {
  /** Memory that must be available. Default 256 MiB. */
  readonly memoryBytes: number
  /** What a sandbox takes at once when it starts; counted for those that are just being made. Default 32 MiB. */
  readonly startingMemoryBytes: number
  /** Room on the disk of the home. Default 512 MiB. */
  readonly diskBytes: number
  /** Processes and threads that the kernel must still be able to start. Default 1024. */
  readonly pids: number
  /** Sandboxes that have a machine. Default 2000. */
  readonly sandboxes: number
  /** Creates under way at once. Default 100. */
  readonly creates: number
}

export const DEFAULT_ADMISSION: AdmissionLimits = {
  memoryBytes: 256 * MiB,
  startingMemoryBytes: 32 * MiB,
  diskBytes: 512 * MiB,
  pids: 1024,
  sandboxes: 2000,
  creates: 100,
}

/** How long what was read of the host is believed: a burst of creates reads it once. */
const FRESH_MS = 200

/** What the host has left. */
export interface Headroom {
  readonly memoryBytes: number
  readonly diskBytes: number
  readonly pids: number
}

/** Refuses a create before the host starves, with an error that says of what and that can be retried. */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #measure: () => Headroom
  #measured: { readonly at: number; readonly headroom: Headroom } | null = null
  #creates = 0
  readonly #refusals: Record<string, number> = {}

  constructor(measure: () => Headroom, limits: Partial<AdmissionLimits> = {}) {
    this.#measure = measure
    this.#limits = { ...DEFAULT_ADMISSION, ...limits }
  }

  /** Refusals since the start, by what there was too little of. */
  get refusals(): Readonly<Record<string, number>> {
    return this.#refusals
  }

  /** What is left beyond what must stay free. */
  headroom(): Headroom {
    const { memoryBytes, diskBytes, pids } = this.#headroom()
    const limits = this.#limits
    return {
      memoryBytes: Math.max(0, memoryBytes - limits.memoryBytes),
      diskBytes: Math.max(0, diskBytes - limits.diskBytes),
      pids: Math.max(0, pids - limits.pids),
    }
  }

  /** Counts a create until this is disposed of; throws `host_full`. A refusal of an `attempt` is told to nobody: the create asks again. */
  enter(liveSandboxes: number, purpose: 'create' | 'attempt' = 'create'): Disposable {
    try {
      return this.#enter(liveSandboxes)
    } catch (error) {
      const resource = HearthError.isInstance(error) ? error.context['resource'] : null
      if (purpose === 'create' && typeof resource === 'string')
        this.#refusals[resource] = (this.#refusals[resource] ?? 0) + 1
      throw error
    }
  }

  #enter(liveSandboxes: number): Disposable {
    const limits = this.#limits
    const { memoryBytes, diskBytes, pids } = this.#headroom()
    const starting = this.#creates * limits.startingMemoryBytes
    requireRoom('creates under way', limits.creates - this.#creates, 1)
    requireRoom('sandboxes', limits.sandboxes - liveSandboxes, 1)
    requireRoom('memory', memoryBytes - starting - limits.startingMemoryBytes, limits.memoryBytes)
    requireRoom('disk', diskBytes, limits.diskBytes)
    requireRoom('processes', pids, limits.pids)
    this.#creates++
    let over = false
    return {
      [Symbol.dispose]: () => {
        if (!over) this.#creates--
        over = true
      },
    }
  }

  #headroom(): Headroom {
    const now = performance.now()
    if (this.#measured === null || now - this.#measured.at > FRESH_MS) {
      this.#measured = { at: now, headroom: this.#measure() }
    }
    return this.#measured.headroom
  }
}

function requireRoom(resource: string, left: number, needed: number): void {
  if (left >= needed) return
  throw new HearthError('host_full', `this host is full: ${resource}: ${Math.max(0, left)} left, ${needed} needed`, {
    context: { resource, left: Math.max(0, left), needed },
  })
}

/** What the kernel can start at all; read once, since nothing but an administrator changes it. */
let mostThreads: number | null = null

/**
 * Reads the kernel's own numbers; synchronous, each takes microseconds. `spareBytes` is memory that is held and given up when sandboxes
 * need it.
 */
export function measureHost(home: string, spareBytes = 0): Headroom {
  const memory = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]
  const { bavail, bsize } = statfsSync(home)
  const threads = /\d+\/(\d+)/.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1]
  mostThreads ??= Math.min(numberIn('/proc/sys/kernel/pid_max'), numberIn('/proc/sys/kernel/threads-max'))
  return {
    memoryBytes: memory === undefined ? Number.MAX_SAFE_INTEGER : Number(memory) * 1024 + spareBytes,
    diskBytes: bavail * bsize,
    pids: mostThreads - Number(threads ?? 0),
  }
}

function numberIn(path: string): number {
  return Number(readFileSync(path, 'utf8').trim())
}
