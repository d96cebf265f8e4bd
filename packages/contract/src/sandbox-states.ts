import { z } from 'zod'

/**
 * The life of a sandbox. Those that end in `-ing` belong to an operation under way; the others are at rest.
 * `deleted` is never shown: to every caller a deleted sandbox is one that is not found.
 */
export const SANDBOX_STATES = [
  'creating',
  'running',
  'pausing',
  'paused',
  'resuming',
  'hibernating',
  'hibernated',
  'waking',
  'stopping',
  'stopped',
  'failed',
  'deleting',
  'deleted',
] as const

export type SandboxState = (typeof SANDBOX_STATES)[number]

export const sandboxStateSchema = z.enum(SANDBOX_STATES)
