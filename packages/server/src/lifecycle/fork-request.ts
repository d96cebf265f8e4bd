import { BOUNDS, HearthError, newSandboxId, type ForkRequest, type SandboxId } from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import type { NewSandbox, SandboxRecord } from '../state/index.ts'

/** The children of a fork as rows: as their parent, except for what the caller says. */
export function planChildren(
  parent: SandboxRecord,
  request: ForkRequest,
  { holder }: Pick<Caller, 'holder'>,
  now: number,
): (NewSandbox & { readonly id: SandboxId })[] {
  const { count, each = [] } = request
  if (each.length > count) {
    throw new HearthError('invalid_request', `request.each: there are more than the ${count} children`)
  }
  return Array.from({ length: count }, (_, index) => ({
    ...planChild(parent, request, each[index] ?? {}, now),
    holder: holder?.path ?? null,
  }))
}

function planChild(
  parent: SandboxRecord,
  request: ForkRequest,
  own: NonNullable<ForkRequest['each']>[number],
  now: number,
): NewSandbox & { readonly id: SandboxId } {
  const { tenantId, hostId, rung, driver, template, limits, idleMs, idleAction } = parent
  const ttlMs = own.ttlMs ?? request.ttlMs ?? defaultTtlMs(parent)
  const env = { ...parent.spec.env, ...request.env, ...own.env }
  const policy = own.policy ?? request.policy ?? parent.spec.policy
  const metadata = { ...parent.metadata, ...request.metadata, ...own.metadata }
  // Each has a key for itself or none: a copy of one that has gets none.
  const { from: _from, memory: _memory, hostname: _hostname, delegate: _delegate, ...spec } = parent.spec
  return {
    id: newSandboxId(),
    tenantId,
    hostId,
    rung,
    driver,
    template,
    spec: {
      ...spec,
      env,
      metadata,
      ...(policy === undefined ? {} : { policy }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    },
    limits,
    metadata,
    expiresAt: ttlMs === undefined ? parent.expiresAt : now + ttlMs,
    idle: idleMs === null || idleAction === null ? null : { ms: idleMs, action: idleAction },
    parentId: parent.id,
  }
}

/** Undefined: the parent's own deadline. To live without one is never inherited: it is asked for, with a scope of its own. */
export function defaultTtlMs(parent: SandboxRecord): number | undefined {
  return parent.persistent ? BOUNDS.defaultTtlMs : undefined
}
