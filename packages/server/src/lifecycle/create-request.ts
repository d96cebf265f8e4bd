import {
  BOUNDS,
  createSandboxSchema,
  HearthError,
  newSandboxId,
  parseInput,
  type CreateSandbox,
  type SandboxId,
  type SandboxSpec,
} from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { NewSandbox } from '../state/index.ts'

/** A create that was checked, and what it will get. */
export interface PlannedCreate {
  /** As it was asked for: what an idempotency key is compared by, and what is done again after a crash. */
  readonly request: CreateSandbox
  readonly row: NewSandbox & { readonly id: SandboxId }
}

/** Checks a request against itself and against what this host can do; nothing is written. */
export async function planCreate(
  hearth: Hearth,
  input: unknown,
  place: { readonly tenantId: string; readonly hostId: string },
): Promise<PlannedCreate> {
  const request = parseInput(createSandboxSchema, input, 'request')
  const { persistent = false, ttlMs, idleMs, idleAction } = request
  if (persistent && ttlMs !== undefined) throw refusal('ttlMs: a persistent sandbox has no deadline')
  if (idleAction !== undefined && idleMs === undefined) throw refusal('idleAction: needs idleMs')
  const spec = engineSpec(request)
  const plan = await hearth.plan(spec)
  if (idleAction === 'pause' && !plan.capabilities.pause) {
    throw new HearthError('capability_unsupported', `idleAction: ${plan.driver} cannot pause a sandbox`)
  }
  const action = idleAction ?? (plan.capabilities.pause ? 'pause' : 'kill')
  const row = {
    id: newSandboxId(),
    ...place,
    rung: plan.rung,
    driver: plan.driver,
    template: plan.template,
    spec,
    limits: plan.limits,
    metadata: request.metadata ?? {},
    expiresAt: persistent ? null : Date.now() + (ttlMs ?? BOUNDS.defaultTtlMs),
    idle: idleMs === undefined ? null : { ms: idleMs, action },
  }
  return { request, row }
}

/** What the engine is asked for. It knows no sandbox without a deadline: that of a persistent one is moved again and again. */
export function engineSpec(request: CreateSandbox): SandboxSpec {
  const { idleMs: _idle, idleAction: _action, persistent, ...spec } = request
  return persistent === true ? { ...spec, ttlMs: BOUNDS.maximumTtlMs } : spec
}

function refusal(message: string): HearthError {
  return new HearthError('invalid_request', `request.${message}`)
}
