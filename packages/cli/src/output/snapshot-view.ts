import type { SnapshotInfo } from '@hearth/sdk'
import type { View } from './present.ts'
import { printable } from './printable.ts'
import { metadataText } from './sandbox-view.ts'
import { formatBytes, table } from './table.ts'
import { formatAge, formatMoment } from './time.ts'

/** Snapshots in a table. */
export const snapshotView: View<SnapshotInfo> = {
  header: ['ID', 'NAME', 'RUNG', 'TEMPLATE', 'AGE', 'DISK', 'MEMORY', 'METADATA'],
  id: ({ id }) => id,
  row: (snapshot) => [
    snapshot.id,
    snapshot.name ?? '-',
    snapshot.rung,
    printable(snapshot.template),
    formatAge(snapshot.createdAt),
    formatBytes(snapshot.diskBytes),
    snapshot.memory ? formatBytes(snapshot.memoryBytes) : 'none',
    metadataText(snapshot.metadata),
  ],
}

export function snapshotRow(snapshot: SnapshotInfo): string {
  return table([snapshotView.header, snapshotView.row(snapshot)])
}

/** All of one snapshot, a line for each fact. */
export function snapshotFacts(snapshot: SnapshotInfo): [name: string, value: string][] {
  const { name, parent, metadata, limits } = snapshot
  const facts: [string, string | null][] = [
    ['id', snapshot.id],
    ['name', name],
    ['sandbox', snapshot.sandbox],
    ['parent', parent],
    ['rung', `${snapshot.rung} (${snapshot.driver})`],
    ['template', printable(snapshot.template)],
    ['created', `${formatMoment(snapshot.createdAt)} (${formatAge(snapshot.createdAt)} ago)`],
    ['processes', snapshot.memory ? 'go on in what is made of it' : 'none are in it'],
    ['takes', `${formatBytes(snapshot.diskBytes)} of files, ${formatBytes(snapshot.memoryBytes)} of memory`],
    ['metadata', Object.keys(metadata).length === 0 ? null : metadataText(metadata)],
    ['limits', `memory ${formatBytes(limits.memoryBytes)}, ${limits.cpus} cpus, disk ${formatBytes(limits.diskBytes)}`],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== null)
}
