import { posix } from 'node:path'

/** How tests are run, in a file that says other things too. */
export interface JudgedConfiguration {
  /** What is written for judging; null: nothing, so that the file is as it is on the base. */
  readonly content: string | null
  /** In whole or in part it is as on the base. */
  readonly isHeld: boolean
}

type Judge = (before: string | null, after: string | null) => JudgedConfiguration

const JUDGES: Readonly<Record<string, Judge>> = {
  'package.json': judgedPackage,
  'pyproject.toml': judgedPython,
  'setup.cfg': judgedPython,
}

export function configuresRunner(path: string): boolean {
  return Object.hasOwn(JUDGES, posix.basename(path))
}

/** The part that runs the tests is that of the base, with everything else as it was changed. Null: it is not there, before or after the change. */
export function judgedConfiguration(path: string, before: string | null, after: string | null): JudgedConfiguration {
  const judge = JUDGES[posix.basename(path)]
  return judge === undefined ? { content: after, isHeld: false } : judge(before, after)
}

/** Scripts, and what test runners read there. */
const RUNNER_FIELDS = ['scripts', 'wireit', 'jest', 'mocha', 'ava', 'tap', 'jasmine', 'nyc', 'c8', 'vitest'] as const

type Fields = Readonly<Record<string, unknown>>

/** SAFETY: what is written is what was read here: other readers may take the first of two fields, or overlook what comes before the first. */
function judgedPackage(before: string | null, after: string | null): JudgedConfiguration {
  const decided = runnerFields(parse(before ?? '{}') ?? {})
  if (after === null) return { content: null, isHeld: decided.length > 0 }
  const fields = parse(after)
  if (fields === null) return { content: null, isHeld: true }
  const isHeld = JSON.stringify(runnerFields(fields)) !== JSON.stringify(decided)
  const others = Object.entries(fields).filter(([name]) => !isRunnerField(name))
  return { content: `${JSON.stringify(Object.fromEntries([...others, ...decided]), null, 2)}\n`, isHeld }
}

function runnerFields(fields: Fields): [name: string, value: unknown][] {
  return RUNNER_FIELDS.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]]] : []))
}

function isRunnerField(name: string): boolean {
  return (RUNNER_FIELDS as readonly string[]).includes(name)
}

function parse(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null
  } catch {
    // Whoever reads it in spite of that reads what is not known here.
    return null
  }
}

const SECTION = /^\s*\[/
/** In a name, an escape could stand for any letter of it. */
const RUNS_TESTS = /pytest|\btox\b|\bnox\b|nose|unittest|hatch|\bpoe\b|taskipy|\\/i

/** A section cannot be taken out without knowing the whole language: a file in which one of them differs is as on the base. */
function judgedPython(before: string | null, after: string | null): JudgedConfiguration {
  const isHeld = linesAboutTests(before ?? '') !== linesAboutTests(after ?? '')
  return { content: isHeld ? null : after, isHeld }
}

function linesAboutTests(text: string): string {
  let inSection = false
  return text
    .split(/\r?\n/)
    .filter((line) => {
      if (SECTION.test(line)) inSection = RUNS_TESTS.test(line)
      return (inSection || RUNS_TESTS.test(line)) && line.trim() !== ''
    })
    .join('\n')
}
