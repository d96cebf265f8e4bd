import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import type { Rung } from '@hearth/contract'
import { rowOf, type Measurement, type Row } from './row.ts'

export interface BenchReport {
  readonly startedAt: string
  readonly host: {
    readonly cores: number
    readonly memoryBytes: number
    readonly kernel: string
    readonly node: string
    readonly load: readonly number[]
  }
  readonly rows: readonly Row[]
  readonly skipped: readonly { readonly rung: Rung; readonly reason: string }[]
  readonly errors: readonly { readonly rung: Rung; readonly metric: string; readonly message: string }[]
}

type Measured = Measurement | readonly Measurement[]

/** Collects what is measured. What fails is in the report, not thrown. */
export class Recorder {
  readonly #startedAt = new Date().toISOString()
  readonly #load = loadavg()
  readonly #measurements: Measurement[] = []
  readonly #skipped: BenchReport['skipped'][number][] = []
  readonly #errors: BenchReport['errors'][number][] = []

  async measure(rung: Rung, metric: string, measure: () => Promise<Measured>): Promise<void> {
    try {
      this.#measurements.push(...[await measure()].flat())
    } catch (error) {
      this.#errors.push({ rung, metric, message: (error as Error).message })
    }
  }

  skip(rung: Rung, reason: string): void {
    this.#skipped.push({ rung, reason })
  }

  /** The report; all samples go to a file of their own. */
  finish(directory: string = join(import.meta.dirname, '../results')): BenchReport {
    const report = {
      startedAt: this.#startedAt,
      host: {
        cores: cpus().length,
        memoryBytes: totalmem(),
        kernel: release(),
        node: process.version,
        load: this.#load,
      },
      rows: this.#measurements.map(rowOf),
      skipped: this.#skipped,
      errors: this.#errors,
    }
    mkdirSync(directory, { recursive: true })
    const name = `${this.#startedAt.replaceAll(':', '-')}.json`
    writeFileSync(join(directory, name), JSON.stringify({ ...report, measurements: this.#measurements }, null, 1))
    return report
  }
}
