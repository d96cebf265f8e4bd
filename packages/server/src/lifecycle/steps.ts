/**
 * Every instant between two durable effects. A server that dies at any of them is restarted and finishes or undoes what it did;
 * the crash suite kills it at each.
 */
export const STEPS = [
  'create:started',
  'create:begun',
  'create:launched',
  'create:done',
  'pause:begun',
  'pause:frozen',
  'pause:done',
  'resume:begun',
  'resume:thawed',
  'resume:done',
  'stop:begun',
  'stop:freed',
  'stop:done',
  'delete:begun',
  'delete:freed',
  'delete:done',
  'renew:written',
  'snapshot:begun',
  'snapshot:taken',
  'snapshot:done',
  'remove:begun',
  'remove:freed',
  'import:taken',
  'fork:begun',
  'fork:launched',
  'fork:done',
  'merge:begun',
  'merge:applied',
  'merge:done',
  'recovery:claimed',
  'recovery:discarded',
] as const

export type Step = (typeof STEPS)[number]
