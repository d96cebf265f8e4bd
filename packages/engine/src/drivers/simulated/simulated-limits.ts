import type { Limits } from '@hearth/contract'
import type { BashOptions } from 'just-bash'
import type { TreeLimits } from './tree-node.ts'

const MiB = 1024 * 1024

/** Input that a command is given, and files and directories of one sandbox. */
export const SIMULATED_BOUNDS = {
  stdinBytes: 64 * MiB,
  entries: 200_000,
  watchQueue: 10_000,
} as const

/** Files lie in memory, so the smaller of the two limits bounds them. */
export function treeLimits(limits: Limits): TreeLimits {
  return { bytes: Math.min(limits.diskBytes, limits.memoryBytes), entries: SIMULATED_BOUNDS.entries }
}

/** What one run of the shell may use. Time is kept by a timer of ours; this deadline is the net below it. */
export function executionLimits(limits: Limits, timeoutMs: number): NonNullable<BashOptions['executionLimits']> {
  const live = Math.min(limits.memoryBytes, 512 * MiB)
  return {
    maxExecutionTimeMs: (timeoutMs === 0 ? limits.wallTimeMs : timeoutMs) + 1000,
    maxCommandCount: 1_000_000,
    maxLoopIterations: 1_000_000,
    maxLiveBytes: live,
    maxStringLength: Math.min(live, 64 * MiB),
    maxOutputSize: Math.min(live, 256 * MiB),
    maxInputBytes: 512 * MiB,
    maxFileDescriptors: limits.openFiles,
  }
}
