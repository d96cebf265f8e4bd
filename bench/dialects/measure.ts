import { Readable } from 'node:stream'
import { seededRandom } from '../../tests/support/seeded-random.ts'
import { timed } from '../context.ts'
import type { Measurement, Target } from '../report/row.ts'
import type { DialectApi, FileCalls } from './api.ts'
import type { NativeApi } from './native-api.ts'

const CREATE_TARGET: Target = { kind: 'added', value: 3 }
const EXEC_TARGET: Target = { kind: 'added', value: 2 }
const FILE_TARGET: Target = { kind: 'ratio', value: 1.25 }
const FILE_MB = 100
/** A program that has just started is slow: that is not what is asked here. */
const EXEC_WARM_UP = 200
const CREATE_WARM_UP = 20

/** What one dialect took, and what the native API took in the same rounds. */
class Samples {
  readonly #native: number[] = []
  readonly #dialect: number[] = []

  add(native: number, dialect: number): void {
    this.#native.push(native)
    this.#dialect.push(dialect)
  }

  row(metric: string, unit: Measurement['unit'], target: Target): Measurement {
    return {
      rung: 'process',
      metric,
      unit,
      samples: this.#dialect,
      floors: [{ name: 'native', samples: this.#native }],
      target,
    }
  }
}

/** Rounds in which all take turns, each time in another order: what one leaves behind must not be counted for the same other always. */
async function inTurns(
  dialects: readonly DialectApi[],
  rounds: { readonly warmUp: number; readonly count: number },
  pair: (dialect: DialectApi) => { readonly native: () => Promise<number>; readonly dialect: () => Promise<number> },
): Promise<Map<DialectApi, Samples>> {
  const random = seededRandom(1)
  const samples = new Map(dialects.map((dialect) => [dialect, new Samples()]))
  for (let round = -rounds.warmUp; round < rounds.count; round++) {
    for (const dialect of shuffled(dialects, random)) {
      const calls = pair(dialect)
      const early = random() < 0.5 ? await calls.native() : null
      const elapsed = await calls.dialect()
      const native = early ?? (await calls.native())
      if (round >= 0) samples.get(dialect)?.add(native, elapsed)
    }
  }
  return samples
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }))
  return keyed.toSorted((one, other) => one.key - other.key).map(({ item }) => item)
}

export async function measureCreates(
  native: NativeApi,
  dialects: readonly DialectApi[],
  count: number,
): Promise<Measurement[]> {
  const once = async (api: NativeApi | DialectApi): Promise<number> => {
    let id = ''
    const elapsed = await timed(async () => void (id = await api.create()))
    await api.remove(id)
    return elapsed
  }
  const samples = await inTurns(dialects, { warmUp: CREATE_WARM_UP, count }, (dialect) => ({
    native: () => once(native),
    dialect: () => once(dialect),
  }))
  return [...samples].map(([{ name }, each]) => each.row(`create by ${name}`, 'ms', CREATE_TARGET))
}

/** The same command by both, in one sandbox. */
export async function measureExecs(
  native: NativeApi,
  dialects: readonly DialectApi[],
  count: number,
): Promise<Measurement[]> {
  return await withSandboxes(dialects, async (sandboxes) => {
    const samples = await inTurns(dialects, { warmUp: EXEC_WARM_UP, count }, (dialect) => {
      const id = sandboxes.get(dialect) ?? ''
      return {
        native: () => timed(() => native.exec(id, dialect.command)),
        dialect: () => timed(() => dialect.exec(id)),
      }
    })
    return [...samples].map(([{ name }, each]) => each.row(`exec of true by ${name}`, 'ms', EXEC_TARGET))
  })
}

/** A file of 100 MB in and out. */
export async function measureFiles(
  native: NativeApi,
  dialects: readonly DialectApi[],
  count: number,
): Promise<Measurement[]> {
  const able = dialects.filter(({ files }) => files !== null)
  return await withSandboxes(able, async (sandboxes) => {
    const measured: Measurement[] = []
    for (const [direction, move] of [
      ['in', writeFile],
      ['out', readFile],
    ] as const) {
      const samples = await inTurns(able, { warmUp: 1, count }, (dialect) => {
        const id = sandboxes.get(dialect) ?? ''
        return { native: () => move(native, id), dialect: () => move(dialect.files ?? native, id) }
      })
      for (const [{ name }, each] of samples) {
        measured.push(each.row(`file of ${FILE_MB} MB ${direction} by ${name}`, 'ms/MB', FILE_TARGET))
      }
    }
    return measured
  })
}

const chunk = Buffer.alloc(1024 * 1024, 'x')

async function writeFile(api: FileCalls, id: string): Promise<number> {
  const content = (): Readable => Readable.from(Array.from({ length: FILE_MB }, () => chunk))
  return (await timed(() => api.write(id, '/tmp/file', content))) / FILE_MB
}

async function readFile(api: FileCalls, id: string): Promise<number> {
  let length = 0
  const elapsed = await timed(async () => void (length = await api.read(id, '/tmp/file')))
  if (length !== FILE_MB * 1024 * 1024) throw new Error(`read ${length} bytes of the file`)
  return elapsed / FILE_MB
}

/** Each made by its own dialect. */
async function withSandboxes<T>(
  dialects: readonly DialectApi[],
  work: (sandboxes: ReadonlyMap<DialectApi, string>) => Promise<T>,
): Promise<T> {
  const sandboxes = new Map<DialectApi, string>()
  for (const dialect of dialects) sandboxes.set(dialect, await dialect.create())
  try {
    return await work(sandboxes)
  } finally {
    for (const [dialect, id] of sandboxes) await dialect.remove(id)
  }
}
