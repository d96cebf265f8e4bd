import {
  BOUNDS,
  createSandboxSchema,
  HearthError,
  newSandboxId,
  parseInput,
  type CreateFrom,
  type CreateSandbox,
  type SandboxId,
} from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import { resolveMounts } from '../volumes/finding-volumes.ts'
import type { NewSandbox, StoredSecret, StoredSpec, WorkspaceRecord } from '../state/index.ts'
import { requireAllowedTemplate } from './allowed-template.ts'
import type { Context } from './context.ts'
import { specIn } from './workspace-spec.ts'
import { findSnapshot } from './finding-snapshots.ts'
import { requireUnlimited, requireWithin, withinByDefault } from './within-grant.ts'

/** A create that was checked, and what it will get. */
export interface PlannedCreate {
  /** As it was asked for: what an idempotency key is compared by, and what is done again after a crash. */
  readonly request: CreateSandbox
  readonly row: NewSandbox & { readonly id: SandboxId }
  /** What it gets for itself alone. */
  readonly workspace: WorkspaceRecord | null
}

/** Checks a request against itself and against what this host can do; nothing is written. */
export async function planCreate(
  context: Pick<Context, 'hearth' | 'store' | 'hostId'>,
  input: unknown,
  caller: Caller,
  workspace: WorkspaceRecord | null,
): Promise<PlannedCreate> {
  const { tenantId } = caller
  // One instant for all that is counted from it.
  const now = Date.now()
  const asked = parseInput(createSandboxSchema, input, 'request')
  const request = withinByDefault(caller, asked, now)
  const { persistent = false, ttlMs, idleMs, idleAction } = request
  if (persistent && ttlMs !== undefined) throw refusal('ttlMs: a persistent sandbox has no deadline')
  if (idleAction !== undefined && idleMs === undefined) throw refusal('idleAction: needs idleMs')
  const { hearth, hostId } = context
  await requireAllowedTemplate(hearth, caller.scopes, request.template)
  if (request.from !== undefined) requireUnlimited(caller, 'snapshots')
  if (request.volumes !== undefined) requireUnlimited(caller, 'volumes')
  if (request.workspace !== undefined) requireUnlimited(caller, 'workspaces')
  // Names are the tenant's: the engine knows identifiers alone.
  const from = request.from === undefined ? null : (await findSnapshot(context, tenantId, request.from)).id
  const volumes = request.volumes === undefined ? null : await resolveMounts(context, tenantId, request.volumes)
  const whole = {
    ...storedSpec(request),
    ...(from === null ? {} : { from }),
    ...(volumes === null ? {} : { volumes }),
  }
  const spec = workspace === null ? whole : specIn(whole, workspace)
  const plan = await hearth.plan(engineSpec(spec))
  for (const { secret } of spec.secrets ?? []) requireUsable(await context.store.secrets.get(tenantId, secret))
  if (idleAction === 'pause' && !plan.capabilities.pause) {
    throw new HearthError('capability_unsupported', `idleAction: ${plan.driver} cannot pause a sandbox`)
  }
  if (idleAction === 'hibernate' && !plan.capabilities.snapshots) {
    throw new HearthError('capability_unsupported', `idleAction: ${plan.driver} cannot hibernate a sandbox`)
  }
  if (spec.record?.processes === true && !plan.capabilities.processRecord) {
    throw new HearthError('capability_unsupported', `record.processes: ${plan.driver} cannot tell which are started`, {
      suggestion: 'Ask for a rung whose `processRecord` is true in the list of rungs.',
    })
  }
  const action = idleAction ?? (plan.capabilities.pause ? 'pause' : 'kill')
  const row = {
    id: newSandboxId(),
    tenantId,
    hostId,
    originId: from,
    rung: plan.rung,
    driver: plan.driver,
    template: plan.template,
    spec,
    limits: plan.limits,
    metadata: request.metadata ?? {},
    expiresAt: persistent ? null : now + (ttlMs ?? BOUNDS.defaultTtlMs),
    idle: idleMs === undefined ? null : { ms: idleMs, action },
    holder: caller.holder?.path ?? null,
  }
  requireWithin(caller, row, now)
  return { request: asked, row, workspace }
}

/** What the engine is asked for: it keeps no record, and knows no grants. */
export function engineSpec({ record: _record, delegate: _delegate, ...spec }: StoredSpec): CreateFrom {
  return spec
}

/** What the engine is told besides. */
export function launchOptions({ id, spec }: { readonly id: SandboxId; readonly spec: StoredSpec }) {
  return { id, ownHearth: spec.delegate !== undefined }
}

/** The engine knows no sandbox without a deadline: that of a persistent one is moved again and again. */
function storedSpec(request: CreateSandbox): StoredSpec {
  const { idleMs: _idle, idleAction: _action, persistent, volumes: _volumes, workspace: _workspace, ...spec } = request
  return persistent === true ? { ...spec, ttlMs: BOUNDS.maximumTtlMs } : spec
}

function refusal(message: string): HearthError {
  return new HearthError('invalid_request', `request.${message}`)
}

/** A key of ssh is for the host alone: there is no place of a request that it could be put into. */
function requireUsable({ name, binding }: StoredSecret): void {
  if (binding.placement.in !== 'ssh') return
  throw refusal(`secrets: ${name} is a key of ssh, which the server uses for repositories and no sandbox can use`)
}
