import { median, percentile } from '../report/row.ts'
import { KINDS, type Latencies } from './load.ts'

/** What a server holds at one instant. */
export interface Footprint {
  readonly descriptors: number
  readonly threads: number
  readonly rssBytes: number
  /** After a collection of garbage. */
  readonly heapBytes: number
  readonly mounts: number
  readonly directories: number
  readonly rows: number
  /** Control groups that nothing runs in; those of other programs on this host are among them. */
  readonly emptyCgroups: readonly string[]
}

export interface Minute {
  readonly latencies: Latencies
  readonly footprint: Footprint
}

const MiB = 1024 ** 2
const SPREAD = 3
/** How much of each may be more at the end than after the warm-up: noise of the moment, not growth. */
const ALLOWED = {
  descriptors: { factor: 1, more: 12 },
  threads: { factor: 1, more: 4 },
  rssBytes: { factor: 1.15, more: 24 * MiB },
  heapBytes: { factor: 1.2, more: 8 * MiB },
  mounts: { factor: 1, more: 0 },
  directories: { factor: 1, more: 8 },
} as const satisfies Partial<Record<keyof Footprint, { factor: number; more: number }>>

/** Rows for each create of the same minute: what is kept for a time is more when more is done. */
const ROWS_ALLOWED = 1.5

/** What went wrong, in words; nothing when it passed. The first minute is the measure of time, the second of what is held. */
export function verdict(minutes: readonly Minute[]): string[] {
  const [first] = minutes
  const base = minutes[1] ?? first
  const last = minutes.at(-1)
  if (first === undefined || base === undefined || last === undefined) return ['nothing was measured']
  return [
    ...slow(first, minutes),
    ...grown(base.footprint, last.footprint),
    ...moreRows(rowsPerCreate(base), rowsPerCreate(last)),
    ...left(minutes),
  ]
}

function slow(first: Minute, minutes: readonly Minute[]): string[] {
  return KINDS.flatMap((kind) => {
    const bound = SPREAD * median(first.latencies[kind])
    return minutes.flatMap(({ latencies }, index) => {
      const worst = percentile(latencies[kind], 99)
      if (worst <= bound) return []
      return [`minute ${index + 1}: p99 of ${kind} is ${worst.toFixed(1)} ms, above ${bound.toFixed(1)} ms`]
    })
  })
}

function grown(base: Footprint, last: Footprint): string[] {
  return Object.entries(ALLOWED).flatMap(([name, { factor, more }]) => {
    const key = name as keyof typeof ALLOWED
    return last[key] <= base[key] * factor + more ? [] : [`${name} grew from ${base[key]} to ${last[key]}`]
  })
}

function rowsPerCreate({ footprint, latencies }: Minute): number {
  return footprint.rows / latencies.create.length
}

function moreRows(base: number, last: number): string[] {
  return last <= base * ROWS_ALLOWED ? [] : [`rows of a create grew from ${base.toFixed(1)} to ${last.toFixed(1)}`]
}

/** A group that was empty at three measurements in a row is nobody's. */
function left(minutes: readonly Minute[]): string[] {
  const known = new Set(minutes[0]?.footprint.emptyCgroups)
  const recent = minutes.slice(-3).map(({ footprint }) => new Set(footprint.emptyCgroups))
  if (recent.length < 3) return []
  const [oldest] = recent
  return [...(oldest ?? [])]
    .filter((path) => !known.has(path) && recent.every((groups) => groups.has(path)))
    .map((path) => `the control group ${path} is left`)
}
