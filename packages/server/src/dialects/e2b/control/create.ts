import { BOUNDS, environmentSchema, HearthError, type CreateSandbox } from '@hearth/contract'
import { z } from 'zod'
import { unsupported } from '../failures.ts'
import { LONGEST_COMMAND_MS } from '../../command-time.ts'
import { reachOf } from '../../network-choice.ts'
import { rungOf } from '../../rung-choice.ts'
import { MARK_KEY, refuseMark, writeMark } from '../mark.ts'
import type { Answer, Call } from './call.ts'
import { networkSchema, policyOf } from './network.ts'
import { rootOf } from './templates.ts'
import { PAUSED_MS, reachableSandbox } from './views.ts'
import { volumeMountsSchema, volumesOf } from '../volumes/volume-routes.ts'

/** Seconds. */
const DEFAULT_TIMEOUT = 300
const DEFAULT_TIMEOUT_V1 = 15

export const timeoutSchema = z
  .number()
  .max(BOUNDS.maximumTtlMs / 1000, `must be at most ${BOUNDS.maximumTtlMs / 3_600_000} hours`)
  .transform((seconds) => Math.max(0, Math.ceil(seconds)))

const createSchema = z.object({
  templateID: z.string().min(1).max(512),
  timeout: timeoutSchema.nullish(),
  metadata: z.record(z.string().max(64), z.string().max(1024)).nullish(),
  envVars: environmentSchema.nullish(),
  mcp: z.unknown().optional(),
  iam: z.unknown().optional(),
  volumeMounts: volumeMountsSchema.nullish(),
  allow_internet_access: z.boolean().nullish(),
  network: networkSchema.nullish(),
  autoPause: z.boolean().nullish(),
  autoPauseMemory: z.boolean().nullish(),
  autoResume: z.object({ enabled: z.boolean() }).nullish(),
})

type Create = z.output<typeof createSchema>

export async function createSandbox(call: Call, version: 1 | 2): Promise<Answer> {
  const { caller, e2b, plane, operation } = call
  const body = await call.body(createSchema)
  requireSupported(body)
  const seconds = body.timeout ?? (version === 1 ? DEFAULT_TIMEOUT_V1 : DEFAULT_TIMEOUT)
  const root = await rootOf(e2b, caller, body.templateID)
  const request: CreateSandbox = {
    ...root,
    ...rungOf(body.metadata ?? {}),
    ...reachOf(body.metadata ?? {}, e2b.policy, policyOf(body.network ?? null, body.allow_internet_access ?? null)),
    limits: { wallTimeMs: LONGEST_COMMAND_MS },
    ttlMs: Math.max(1000, seconds * 1000) + (body.autoPause === true ? PAUSED_MS : 0),
    metadata: { ...body.metadata, [MARK_KEY]: markOf(body, seconds) },
    ...(body.envVars ? { env: body.envVars } : {}),
    ...(await volumesOf(call, body.volumeMounts ?? [])),
  }
  if (request.from === undefined) await e2b.roots.wait(caller.scopes, request, e2b.services.limits.patienceMs)
  const view = await plane.create(caller, request, { idempotencyKey: null, signal: operation.signal })
  operation.sandboxId = view.id
  e2b.pauses.watch(caller.tenantId, view)
  return { status: 201, json: reachableSandbox(e2b, caller, view) }
}

function markOf(body: Create, seconds: number): string {
  return writeMark({
    template: body.templateID,
    autoPause: body.autoPause === true,
    keepMemory: body.autoPauseMemory !== false,
    autoResume: body.autoResume?.enabled === true,
    timeout: seconds,
    privateTraffic: body.network?.allowPublicTraffic === false,
    ...(body.network?.maskRequestHost ? { requestHost: body.network.maskRequestHost } : {}),
    ...(body.network?.httpsPorts?.length ? { httpsPorts: body.network.httpsPorts } : {}),
  })
}

/** What this dialect cannot do is said, never left out silently. */
function requireSupported(body: Create): void {
  const { metadata, autoPause, autoResume } = body
  refuseMark(metadata ?? {})
  if ((body.mcp ?? null) !== null) throw unsupported('mcp (a gateway for MCP servers in the sandbox)')
  if ((body.iam ?? null) !== null) throw unsupported('iam (workload identity tokens)')
  if (autoResume?.enabled === true && autoPause !== true) {
    throw new HearthError('invalid_request', 'autoResume: needs autoPause')
  }
  if (body.autoPauseMemory === false && (autoPause !== true || autoResume?.enabled === true)) {
    throw new HearthError('invalid_request', 'autoPauseMemory: false needs autoPause, and no autoResume')
  }
  if (autoPause === true && (body.timeout ?? 0) * 1000 > PAUSED_MS) {
    throw new HearthError('invalid_request', `timeout: must be at most ${PAUSED_MS / 3_600_000} hours with autoPause`)
  }
}
