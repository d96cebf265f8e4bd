import type { Rung } from '@hearth/contract'

/** What is promised of a number. `ratio` and `added` compare the median with the floor's median of the same run. */
export interface Target {
  readonly kind: 'ratio' | 'added' | 'maximum' | 'minimum'
  readonly value: number
}

export interface Floor {
  readonly name: string
  readonly samples: readonly number[]
}

/** One number of one rung, with all that it was made from. */
export interface Measurement {
  readonly rung: Rung
  readonly metric: string
  readonly unit: 'ms' | 'ms/MB' | 'MB/s' | 'KB' | 'per second' | 'ratio' | 'tokens'
  readonly samples: readonly number[]
  readonly floors: readonly Floor[]
  /** The first floor is the one that a ratio is taken against. */
  readonly target: Target | null
}

export interface Row {
  readonly rung: Rung
  readonly metric: string
  readonly unit: Measurement['unit']
  readonly median: number
  readonly p99: number
  readonly count: number
  readonly floors: readonly { readonly name: string; readonly median: number; readonly p99: number }[]
  readonly ratio: number | null
  readonly target: Target | null
  readonly pass: boolean | null
}

export function rowOf(measurement: Measurement): Row {
  const { rung, metric, unit, samples, floors, target } = measurement
  const middle = median(samples)
  const summaries = floors.map((floor) => ({
    name: floor.name,
    median: round(median(floor.samples)),
    p99: round(percentile(floor.samples, 99)),
  }))
  const floorMiddle = floors[0] === undefined ? null : median(floors[0].samples)
  const ratio = floorMiddle === null || floorMiddle === 0 ? null : middle / floorMiddle
  return {
    rung,
    metric,
    unit,
    median: round(middle),
    p99: round(percentile(samples, unit === 'MB/s' || unit === 'per second' ? 1 : 99)),
    count: samples.length,
    floors: summaries,
    ratio: ratio === null ? null : round(ratio),
    target,
    pass: target === null ? null : meets(target, middle, floorMiddle),
  }
}

function meets(target: Target, value: number, floor: number | null): boolean | null {
  switch (target.kind) {
    case 'ratio':
      return floor === null || floor === 0 ? null : value / floor <= target.value
    case 'added':
      return floor === null ? null : value - floor <= target.value
    case 'maximum':
      return value <= target.value
    case 'minimum':
      return value >= target.value
  }
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 50)
}

/** Nearest rank: the smallest sample that at least this share of the samples does not exceed. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const rank = Math.max(1, Math.ceil((share / 100) * sorted.length))
  return sorted[rank - 1] ?? Number.NaN
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}
