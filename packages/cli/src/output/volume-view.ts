import type { Volume } from '@hearth/sdk'
import type { View } from './present.ts'
import { formatBytes, table } from './table.ts'
import { formatAge, formatMoment } from './time.ts'

/** Volumes in a table. */
export const volumeView: View<Volume> = {
  header: ['ID', 'NAME', 'AGE', 'USED', 'LIMIT', 'SANDBOX', 'HOLDS'],
  id: ({ id }) => id,
  row: (volume) => [
    volume.id,
    volume.name ?? '-',
    formatAge(volume.createdAt),
    formatBytes(volume.usedBytes),
    formatBytes(volume.diskBytes),
    volume.sandbox ?? '-',
    volume.workspace ?? (volume.lifetime === 'sandbox' ? 'what a fork writes' : '-'),
  ],
}

export function volumeRow(volume: Volume): string {
  return table([volumeView.header, volumeView.row(volume)])
}

/** All of one volume, a line for each fact. */
export function volumeFacts(volume: Volume): [name: string, value: string][] {
  const { id, name, createdAt, usedBytes, diskBytes, sandbox, workspace, lifetime } = volume
  const facts: [string, string | null][] = [
    ['id', id],
    ['name', name],
    ['created', `${formatMoment(createdAt)} (${formatAge(createdAt)} ago)`],
    ['holds', `${formatBytes(usedBytes)} of at most ${formatBytes(diskBytes)}`],
    ['stays', lifetime === 'sandbox' ? 'until its sandbox ends' : 'until it is removed'],
    ['sandbox', sandbox],
    ['workspace', workspace],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== null)
}
