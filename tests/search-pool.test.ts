import type { Sandbox } from '@hearth/contract'
import type { SearchReport } from '@hearth/agent'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { confusionTable, isChosenRight, readPool, selectFor, writePool, type PoolTask } from './support/search-pool.ts'

// The selector over tasks whose candidates are known: how often it chooses what is right, or none where nothing is.

const tasks = readPool()
const hearth = new Hearth()
const results: [PoolTask, SearchReport][] = []
let base: Sandbox

beforeAll(async () => {
  base = await hearth.create({ rung: 'process' })
  await writePool(base, tasks)
})
afterAll(async () => {
  const right = results.filter(([task, report]) => isChosenRight(task, report))
  const accuracy = `${right.length} of ${results.length} chosen right`
  console.log(`${accuracy}\n${confusionTable(results)}`)
  await base.kill()
  await hearth.dispose()
})

describe.concurrent('the selector', { timeout: 60_000 }, () => {
  it.each(tasks.map((task) => [task.name, task] as const))('%s', async (_name, task) => {
    const report = await selectFor(base, task)
    results.push([task, report])
    expect(report.base.flaky).toEqual('coin' in task.checks ? ['coin'] : [])
    const unapplied = report.candidates.filter(({ outcome }) => outcome === 'does_not_apply' || outcome === 'broken')
    expect(unapplied).toEqual([])
    // A wrong change that all checks accept can be chosen; everything else must be told apart.
    const found = report.candidates.map(({ name, outcome }) => `${name}: ${outcome}`)
    if (!task.weak) expect(isChosenRight(task, report), found.join(', ')).toBe(true)
  })
})

describe('the pool', () => {
  it('has enough of everything', () => {
    expect(tasks.length).toBeGreaterThanOrEqual(30)
    expect(tasks.filter(({ candidates }) => candidates.every(({ kind }) => kind !== 'right')).length).toBeGreaterThan(4)
    expect(tasks.filter(({ weak }) => weak).length).toBeLessThanOrEqual(2)
  })
})
