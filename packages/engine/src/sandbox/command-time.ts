import { HearthError, type Limits } from '@hearth/contract'

/**
 * How long a command that somebody waits for may run: the wall time of its sandbox is the default, and the most that can be had. What is
 * started in the background has no such bound.
 */
export function commandTimeMs(limits: Pick<Limits, 'wallTimeMs'>, asked: number | undefined): number {
  const { wallTimeMs } = limits
  if (asked === undefined || asked <= wallTimeMs) return asked ?? wallTimeMs
  throw new HearthError('invalid_request', `timeoutMs: ${asked} is above the sandbox's wallTimeMs, ${wallTimeMs}`)
}
