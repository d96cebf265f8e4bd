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
  heapBytes: { factor: 1.1, more: 4 * MiB },
  mounts: { factor: 1, more: 0 },
  directories: { factor: 1, more: 8 },
  rows: { factor: 1.3, more: 100 },
} as const satisfies Partial<Record<keyof Footprint, { factor: number; more: number }>>

/** What went wrong, in words; nothing when it passed. The first minute is the measure of time, the second of what is held. */
export function verdict(minutes: readonly Minute[]): string[] {
  const [first] = minutes
  const base = (minutes[1] ?? first)?.footprint
  const last = minutes.at(-1)?.footprint
  if (first === undefined || base === undefined || last === undefined) return ['nothing was measured']
  return [...slow(first, minutes), ...grown(base, last), ...left(minutes)]
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
