import { totalmem } from 'node:os'
import { HearthError } from '@hearth/contract'

const MiB = 1024 ** 2

export interface PoolOptions {
  /** What all machines that wait may hold of the host's memory together. Default 256 MiB; 0 turns the pool off. */
  readonly memoryBytes?: number
  /** How many wait at most for sandboxes of one shape. Default 8. */
  readonly perShape?: number
  /** Machines of a shape that nobody has asked for in so long are ended. Default 10 minutes. */
  readonly idleMs?: number
  /** None is started before so long after the last create has ended, and on heavy rungs longer. Default 50 ms. */
  readonly quietMs?: number
  /** What the host has left. Default: as the kernel says. */
  readonly availableBytes?: () => number
}

export type PoolSettings = Readonly<Required<PoolOptions>> & {
  /** Below this nothing waits: what they hold is needed. */
  readonly lowBytes: number
}

/** Of a pool that is on. */
export const DEFAULT_POOL = {
  memoryBytes: 256 * MiB,
  perShape: 8,
  idleMs: 600_000,
  quietMs: 50,
} as const satisfies PoolOptions

/** Of a program that says nothing: a pool is for servers. */
const OFF: PoolOptions = { memoryBytes: 0 }

/** What was asked for; `HEARTH_POOL` is `off`, which nothing overrides, or `on`, for those who say nothing. */
export function poolSettings(asked: PoolOptions | false | undefined, environment: NodeJS.ProcessEnv): PoolSettings {
  const setting = environment['HEARTH_POOL'] ?? ''
  if (!['', 'on', 'off'].includes(setting)) {
    throw new HearthError('invalid_request', `HEARTH_POOL is on or off, and not ${setting}`)
  }
  const options = setting === 'off' || asked === false ? OFF : (asked ?? (setting === 'on' ? {} : OFF))
  return {
    memoryBytes: options.memoryBytes ?? DEFAULT_POOL.memoryBytes,
    perShape: options.perShape ?? DEFAULT_POOL.perShape,
    idleMs: options.idleMs ?? DEFAULT_POOL.idleMs,
    quietMs: options.quietMs ?? DEFAULT_POOL.quietMs,
    availableBytes: options.availableBytes ?? (() => process.availableMemory()),
    lowBytes: Math.max(512 * MiB, Math.min(1024 * MiB, totalmem() / 8)),
  }
}
