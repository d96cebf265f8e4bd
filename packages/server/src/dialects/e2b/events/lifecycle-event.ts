import { createHash } from 'node:crypto'
import type { SandboxRecord, StoredEvent } from '../../../state/index.ts'
import { markOf, visibleMetadata } from '../mark.ts'
import { toE2bId } from '../ids.ts'

/** Our events and what E2B calls them. */
const TYPES = {
  'sandbox.created': 'sandbox.lifecycle.created',
  'sandbox.renewed': 'sandbox.lifecycle.updated',
  'policy.changed': 'sandbox.lifecycle.updated',
  'sandbox.paused': 'sandbox.lifecycle.paused',
  'sandbox.hibernated': 'sandbox.lifecycle.paused',
  'sandbox.resumed': 'sandbox.lifecycle.resumed',
  'sandbox.woken': 'sandbox.lifecycle.resumed',
  'snapshot.created': 'sandbox.lifecycle.checkpointed',
  'sandbox.forked': 'sandbox.lifecycle.checkpointed',
  'sandbox.stopped': 'sandbox.lifecycle.killed',
  'sandbox.expired': 'sandbox.lifecycle.killed',
  'sandbox.failed': 'sandbox.lifecycle.killed',
  'sandbox.deleted': 'sandbox.lifecycle.killed',
} as const satisfies Readonly<Record<string, string>>

export const LIFECYCLE_TYPES: readonly string[] = [...new Set(Object.values(TYPES))]

/** The events of ours that become one of these; without any: that become one at all. */
export function storedTypes(types: readonly string[] = LIFECYCLE_TYPES): string[] {
  return Object.entries(TYPES).flatMap(([stored, type]) => (types.includes(type) ? [stored] : []))
}

/** What an event says of its sandbox. */
export interface Subject extends Pick<SandboxRecord, 'template' | 'metadata' | 'createdAt'> {
  readonly limits: Pick<SandboxRecord['limits'], 'cpus' | 'memoryBytes'>
}

/** As E2B's API gives an event. */
export interface LifecycleEvent {
  readonly version: 'v2'
  readonly id: string
  readonly type: string
  readonly eventCategory: 'lifecycle'
  readonly eventLabel: string
  readonly eventData: Readonly<Record<string, unknown>> | null
  readonly sandboxId: string
  readonly sandboxExecutionId: string
  readonly sandboxTemplateId: string
  readonly sandboxBuildId: string
  readonly sandboxTeamId: string
  readonly timestamp: string
}

/** Null for what E2B tells nobody of. `sandbox` is null when nothing is known of it any more. */
export function lifecycleEvent(event: StoredEvent, sandbox: Subject | null): LifecycleEvent | null {
  const { sandboxId, tenantId, data } = event
  const type = (TYPES as Readonly<Record<string, string>>)[event.type]
  if (type === undefined || sandboxId === null) return null
  // It had ended before and is only removed now.
  if (event.type === 'sandbox.deleted' && data['ended'] === true) return null
  // Whoever sleeps is given the latest deadline that there is; that is not what its owner set.
  if (event.type === 'sandbox.renewed' && data['state'] !== 'running') return null
  const template = sandbox === null ? '' : (markOf(sandbox)?.template ?? sandbox.template)
  return {
    version: 'v2',
    // The same however often it is told, so that receivers know it again.
    id: derivedUuid('event', tenantId, String(event.seq)),
    type,
    eventCategory: 'lifecycle',
    eventLabel: type.slice('sandbox.lifecycle.'.length),
    eventData: dataOf(event, type, sandbox),
    sandboxId: toE2bId(sandboxId),
    sandboxExecutionId: derivedUuid('execution', sandboxId),
    sandboxTemplateId: template,
    sandboxBuildId: derivedUuid('build', template),
    sandboxTeamId: tenantId,
    timestamp: new Date(event.at).toISOString(),
  }
}

function dataOf(event: StoredEvent, type: string, sandbox: Subject | null): LifecycleEvent['eventData'] {
  const metadata = sandbox === null ? {} : { sandbox_metadata: visibleMetadata(sandbox) }
  if (event.type === 'sandbox.renewed') return { ...metadata, set_timeout: event.data['expiresAt'] }
  if (event.type === 'policy.changed') return { ...metadata, set_network: true }
  const ends = type.endsWith('.killed') || type.endsWith('.paused')
  if (sandbox === null || !ends) return sandbox === null ? null : metadata
  const execution = {
    started_at: new Date(sandbox.createdAt).toISOString(),
    vcpu_count: Math.max(1, Math.ceil(sandbox.limits.cpus)),
    memory_mb: Math.floor(sandbox.limits.memoryBytes / 1024 ** 2),
    execution_time: Math.max(0, event.at - sandbox.createdAt),
  }
  return { ...metadata, execution }
}

/** In the form of a UUID, which is what receivers keep identifiers in. */
function derivedUuid(...parts: readonly string[]): string {
  const bytes = createHash('sha256').update(parts.join('\n')).digest().subarray(0, 16)
  // Version 8: of the maker's own making.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
