import { HearthError, type SandboxView } from '@hearth/contract'
import { isAlive, type SandboxRecord } from '../state/index.ts'

/** A row as the API shows it. */
export function toView(record: SandboxRecord): SandboxView {
  return {
    id: record.id,
    state: record.state,
    rung: record.rung,
    driver: record.driver,
    template: record.template,
    createdAt: new Date(record.createdAt).toISOString(),
    expiresAt: record.expiresAt === null ? null : new Date(record.expiresAt).toISOString(),
    idleMs: record.idleMs,
    idleAction: record.idleAction,
    parent: record.parentId,
    origin: record.originId,
    metadata: { ...record.metadata },
    limits: record.limits,
    volumes: (record.spec.volumes ?? []).map((mount) => ({ ...mount, readOnly: mount.readOnly ?? false })),
    hibernation: record.hibernation,
    restored: record.restored,
    reason: record.endReason,
  }
}

/** For another tenant's too: nobody learns whether an identifier that is not theirs exists. */
export function notFound(id: string): HearthError {
  return new HearthError('sandbox_not_found', `there is no sandbox ${id}`, { context: { sandbox: id } })
}

/** Throws `sandbox_ended` for one without a machine. */
export function requireAlive(record: SandboxRecord): void {
  if (record.state === 'deleted') throw notFound(record.id)
  if (isAlive(record.state) && record.state !== 'deleting') return
  const reason = record.endReason === null ? '' : `: ${record.endReason}`
  throw new HearthError('sandbox_ended', `sandbox ${record.id} is ${record.state}${reason}`, {
    context: { sandbox: record.id, state: record.state, reason: record.endReason },
  })
}
