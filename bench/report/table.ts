import type { Row } from './row.ts'

/** The rows for people. */
export function table(rows: readonly Row[]): string {
  const header = ['rung', 'metric', 'median', 'p99', 'n', 'floor', 'ratio', 'target', '']
  const lines = [header, ...rows.map(cells)]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function cells(row: Row): string[] {
  const floors = row.floors.map((floor) => `${floor.name} ${floor.median}`).join(', ')
  const verdict = row.pass === null ? '' : row.pass ? 'pass' : 'FAIL'
  return [
    row.rung,
    row.metric,
    `${row.median} ${row.unit}`,
    String(row.p99),
    String(row.count),
    floors,
    row.ratio === null ? '' : `${row.ratio}x`,
    targetText(row),
    verdict,
  ]
}

function targetText({ target, unit }: Row): string {
  switch (target?.kind) {
    case undefined:
      return ''
    case 'ratio':
      return `<= ${target.value}x`
    case 'added':
      return `<= floor + ${target.value} ${unit}`
    case 'maximum':
      return `<= ${target.value} ${unit}`
    case 'minimum':
      return `>= ${target.value} ${unit}`
  }
}
