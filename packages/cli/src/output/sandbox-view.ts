import type { SandboxDetails } from '@hearth/sdk'
import type { View } from './present.ts'
import { printable } from './printable.ts'
import { formatBytes } from './table.ts'
import { formatAge, formatDuration, formatMoment, formatUntil } from './time.ts'

const ENDED: ReadonlySet<string> = new Set(['stopping', 'stopped', 'failed', 'deleting', 'deleted'])

/** Whether nothing runs in it, and nothing will again. */
export function hasEnded(state: string): boolean {
  return ENDED.has(state)
}

/** Sandboxes in a table. */
export const sandboxView: View<SandboxDetails> = {
  header: ['ID', 'STATE', 'RUNG', 'TEMPLATE', 'AGE', 'ENDS', 'METADATA'],
  id: ({ id }) => id,
  row: (sandbox) => [
    sandbox.id,
    sandbox.state,
    sandbox.rung,
    printable(sandbox.template),
    formatAge(sandbox.createdAt),
    formatUntil(sandbox.expiresAt),
    metadataText(sandbox.metadata),
  ],
}

/** All of one sandbox, a line for each fact. */
export function sandboxFacts(sandbox: SandboxDetails): [name: string, value: string][] {
  const { limits, idleMs, idleAction, parent, origin, reason, expiresAt, hibernation, restored } = sandbox
  const facts: [string, string | null][] = [
    ['id', sandbox.id],
    ['state', sandbox.state],
    ['processes', hibernation === null ? null : sleepText(hibernation)],
    ['reason', reason === null ? null : printable(reason)],
    ['rung', `${sandbox.rung} (${sandbox.driver})`],
    ['template', printable(sandbox.template)],
    ['created', `${formatMoment(sandbox.createdAt)} (${formatAge(sandbox.createdAt)} ago)`],
    ['ends', expiresAt === null ? 'never' : `${formatMoment(expiresAt)} (${formatUntil(expiresAt)})`],
    ['idle', idleMs === null ? null : `${idleAction ?? 'kill'} after ${formatDuration(idleMs)}`],
    ['parent', parent],
    ['origin', origin],
    ['captured', restored === null ? null : restoredText(restored)],
    ['metadata', Object.keys(sandbox.metadata).length === 0 ? null : metadataText(sandbox.metadata)],
    ['memory', formatBytes(limits.memoryBytes)],
    ['cpus', String(limits.cpus)],
    ['pids', String(limits.pids)],
    ['disk', formatBytes(limits.diskBytes)],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== null)
}

/** What became of the processes of one that is hibernated. */
export function sleepText({ memory, reason }: NonNullable<SandboxDetails['hibernation']>): string {
  return memory ? 'go on when it wakes' : `ended: ${printable(reason ?? '')}`
}

/** What became of the processes of the snapshot that it was made of. */
export function restoredText({ memory, reason }: NonNullable<SandboxDetails['restored']>): string {
  return memory ? 'its processes go on' : `files alone, no processes: ${printable(reason ?? '')}`
}

export function metadataText(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => printable(`${key}=${value}`))
    .join(' ')
}
