import { HearthError } from '@hearth/contract'

/**
 * Why a link is over: the host let go of it, the stream ended, the machine behind it has ended or sleeps, or the guest broke
 * the protocol and must be killed.
 */
export interface LinkEnd {
  readonly kind: 'closed' | 'lost' | 'ended' | 'asleep' | 'violation'
  readonly detail: string
  /** What ended was killed because the memory limit was reached. */
  readonly oom?: boolean
}

export function linkError(end: LinkEnd): HearthError {
  if (end.kind === 'violation')
    return new HearthError('protocol_violation', `the guest broke the protocol: ${end.detail}`)
  if (end.kind === 'ended') return sandboxEnded(end)
  if (end.kind === 'asleep') return new HearthError('sandbox_hibernated', end.detail)
  return new HearthError('link_lost', end.detail)
}

function sandboxEnded({ detail, oom = false }: LinkEnd): HearthError {
  const suggestion = 'Create a new sandbox with a larger memory limit (--memory).'
  return new HearthError(
    'sandbox_ended',
    `the sandbox has ended: ${detail}`,
    oom ? { context: { oom }, suggestion } : {},
  )
}
