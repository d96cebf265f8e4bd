import { expect, test } from 'vitest'
import { FLOOR } from './load.ts'
import { verdict, type Footprint, type Minute } from './verdict.ts'

const MiB = 1024 ** 2

function minute(latency: number, footprint: Partial<Footprint> = {}): Minute {
  const samples = Array.from({ length: 50 }, () => latency)
  return {
    latencies: { create: samples, exec: samples, delete: samples, [FLOOR]: samples },
    footprint: {
      descriptors: 100,
      threads: 10,
      rssBytes: 200 * MiB,
      heapBytes: 50 * MiB,
      mounts: 1,
      directories: 150,
      rows: 1000,
      emptyCgroups: [],
      ...footprint,
    },
  }
}

test('a server that stays as it is passes', () => {
  expect(verdict([minute(10), minute(12), minute(29)])).toEqual([])
})

test('what becomes slow or grows is named', () => {
  expect(verdict([])).toEqual(['nothing was measured'])
  expect(verdict([minute(10), minute(10), minute(31)])).toHaveLength(3)
  const grown = { descriptors: 113, threads: 15, rssBytes: 300 * MiB, heapBytes: 69 * MiB, mounts: 2, rows: 1600 }
  const problems = verdict([minute(10), minute(10), minute(10, grown)])
  expect(problems.map((problem) => problem.split(' ')[0])).toEqual(Object.keys(grown))
})

test('a control group is left when it was there three times, and not from the beginning', () => {
  const [old, mine, moment] = ['/cgroup/old', '/cgroup/mine', '/cgroup/moment']
  const seen = (...groups: (string | undefined)[]): Minute =>
    minute(10, { emptyCgroups: groups.filter((group) => group !== undefined) })
  expect(verdict([seen(old), seen(old, mine), seen(old, mine, moment), seen(old, mine)])).toEqual([
    'the control group /cgroup/mine is left',
  ])
})
