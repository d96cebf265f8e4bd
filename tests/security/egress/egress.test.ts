import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeEachRung, templateFor, type AvailableStep } from '../../support/ladder.ts'
import { BYPASSES, THEFTS } from './attack-list.ts'
import { notationsOf, VALUES, type Outcome, type StageReport } from './places.ts'

const hearth = new Hearth()
const namespaces = await canMakeNamespaces()

await describeEachRung(hearth, (step) => {
  // Of the list it can try little: `simulated.test.ts`.
  if (step.rung === 'simulated') return
  describe(`${step.rung} (${step.probe.label})`, () => {
    if (namespaces !== null) {
      test('cannot be attacked here', (context) => context.skip(namespaces))
      return
    }
    describeAttacks(step)
  })
})

afterAll(async () => await hearth.dispose(), 120_000)

/** A program of its own in a network namespace of its own, so that every address there is can be a host of the test's. */
async function runStage(step: AvailableStep): Promise<StageReport & { log: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-egress-'))
  try {
    const file = join(directory, 'report.json')
    const stage = join(import.meta.dirname, 'stage.ts')
    const words = ['--net', process.execPath, stage, step.rung, templateFor(step.probe), file]
    const { stdout, stderr } = await promisify(execFile)('unshare', words, { env: process.env })
    const report = JSON.parse(await readFile(file, 'utf8')) as StageReport
    return { ...report, log: stdout + stderr }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Null when they can be made; else why not. */
async function canMakeNamespaces(): Promise<string | null> {
  const tried = promisify(execFile)('unshare', ['--net', 'ip', 'link', 'add', 'one', 'type', 'veth'])
  return await tried.then(
    () => null,
    (error: Error) => `network namespaces cannot be made here: ${error.message}`,
  )
}

function describeAttacks(step: AvailableStep): void {
  let report: StageReport & { log: string }
  beforeAll(async () => {
    report = await runStage(step)
  }, 240_000)

  test.each(Object.entries(BYPASSES))('bypass: %s', (item, expected) => {
    const outcomes = outcomesOf(report.bypass, item)
    for (const [attempt, outcome] of outcomes) {
      expect(outcome, attempt).toMatch(expected)
      if (item !== 'rebinding between check and dial') expect(outcome, attempt).not.toContain('REACHED')
    }
  })

  test('bypass: every attempt is in the list, and nobody was reached', () => {
    expect(new Set(report.bypass.map(([item]) => item))).toEqual(new Set(Object.keys(BYPASSES)))
    expect(report.internet.strangers).toEqual([])
    expect(report.hostServices).toEqual([])
    const bad = report.internet.requests.filter(({ url, whole }) => /closed/.test(url) || /Host\nstranger/i.test(whole))
    expect(bad).toEqual([])
    const known = /^(allowed|rules|vault|other|proxy|rebind|[a-z0-9]+\.inner)\.example$/
    expect(report.resolved.filter((name) => !known.test(name))).toEqual([])
  })

  test.each(Object.entries(THEFTS))('theft: %s', (item, expected) => {
    for (const [attempt, outcome] of outcomesOf(report.theft, item)) expect(outcome, attempt).toMatch(expected)
  })

  test('theft: every attempt is in the list', () => {
    expect(new Set(report.theft.map(([item]) => item))).toEqual(new Set(Object.keys(THEFTS)))
  })

  test('theft: environment, /proc, memory and files inside', () => {
    const placeholders = Object.values(report.placeholders)
    expect(new Set(placeholders).size).toBe(Object.keys(VALUES).length)
    expect(Object.keys(report.found).toSorted()).toEqual(placeholders.toSorted())
  })

  test('theft: records and images on the host', () => {
    expect(report.leaks).toEqual([])
    expect(report.searched.files).toBeGreaterThan(1)
  })

  test('theft: a copy, and the placeholder of its parent in it', (context) => {
    if (report.fork === null) return context.skip('this rung has no forks')
    const parent = report.placeholders['VAULT'] ?? ''
    expect(report.fork.placeholder).toMatch(/^ghp_[A-Za-z0-9]{32}$/)
    expect(report.fork.placeholder).not.toBe(parent)
    const seen = report.internet.requests.filter(({ url }) => url.startsWith('/fork')).map(({ whole }) => whole)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toContain(VALUES.VAULT)
    expect(seen[1]).toContain(parent)
    expect(seen[1]).not.toContain(VALUES.VAULT)
  })

  test('theft: values are where they belong, and nowhere else', () => {
    // They did reach the server that they are for: nothing above held because nothing was put in.
    const atVault = report.internet.requests.filter(({ address }) => address.endsWith('45.0.0.3'))
    for (const name of ['VAULT', 'DEPLOY', 'QUERY', 'FIELD'] as const)
      expect(atVault.some(({ whole }) => whole.includes(VALUES[name]))).toBe(true)
    const elsewhere = report.internet.requests.filter(({ address }) => !address.endsWith('45.0.0.3'))
    const { internet: _internet, ...inside } = report
    const text = JSON.stringify([elsewhere, inside])
    for (const [name, value] of Object.entries(VALUES))
      for (const notation of notationsOf(value))
        expect(text.includes(JSON.stringify(notation).slice(1, -1)), name).toBe(false)
  })
}

function outcomesOf(report: readonly Outcome[], item: string): (readonly [string, string])[] {
  const found = report.filter(([name]) => name === item)
  const outcomes = found.flatMap(([, attempt, said]) => said.map((one) => [attempt, one] as const))
  expect(outcomes.length).toBeGreaterThan(0)
  return outcomes
}
