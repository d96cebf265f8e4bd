import { HearthError, SANDBOX_STATES, type SandboxState } from '@hearth/contract'

/**
 * Every change of state that there is. What must hold:
 * - an operation that is undone goes back to the state of rest that it left (`pausing` to `running`, `resuming` to `paused`,
 *   `hibernating` to `running` or `paused`, `waking` to `hibernated`);
 * - a machine that was found ended goes to `stopped` from any state in which it could have run;
 * - anything can be deleted at any time, and a deletion that has begun only goes on: it is repeated until nothing is left.
 */
export const TRANSITIONS: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  creating: ['running', 'failed', 'deleting'],
  running: ['pausing', 'hibernating', 'stopping', 'stopped', 'failed', 'deleting'],
  pausing: ['paused', 'running', 'stopped', 'failed', 'deleting'],
  paused: ['resuming', 'hibernating', 'stopping', 'stopped', 'failed', 'deleting'],
  resuming: ['running', 'paused', 'stopped', 'failed', 'deleting'],
  hibernating: ['hibernated', 'running', 'paused', 'stopped', 'failed', 'deleting'],
  hibernated: ['waking', 'stopping', 'stopped', 'deleting'],
  waking: ['running', 'hibernated', 'stopped', 'failed', 'deleting'],
  stopping: ['stopped', 'failed', 'deleting'],
  stopped: ['deleting'],
  failed: ['deleting'],
  deleting: ['deleted'],
  deleted: [],
}

const TRANSIENT: readonly SandboxState[] = [
  'creating',
  'pausing',
  'resuming',
  'hibernating',
  'waking',
  'stopping',
  'deleting',
]

/** States of sandboxes that have not ended: there is a machine on a host, or what one can be made of again. */
export const ALIVE_STATES: readonly SandboxState[] = SANDBOX_STATES.filter(
  (state) => state !== 'stopped' && state !== 'failed' && state !== 'deleted',
)

/** Those in which a machine may exist. They count against all quotas; one that is hibernated holds a disk alone. */
export const MACHINE_STATES: readonly SandboxState[] = ALIVE_STATES.filter((state) => state !== 'hibernated')

export function canTransition(from: SandboxState, to: SandboxState): boolean {
  return TRANSITIONS[from].includes(to)
}

/** Throws `invalid_state` with both states as its context. */
export function assertTransition(from: SandboxState, to: SandboxState): void {
  if (canTransition(from, to)) return
  throw new HearthError('invalid_state', `a sandbox that is ${from} cannot become ${to}`, { context: { from, to } })
}

export function isAlive(state: SandboxState): boolean {
  return ALIVE_STATES.includes(state)
}

/** True while an operation is under way. */
export function isTransient(state: SandboxState): boolean {
  return TRANSIENT.includes(state)
}
