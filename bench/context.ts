import type { Rung, SandboxSpec } from '@hearth/contract'
import type { Capabilities, EmbeddedSandbox, Hearth } from '@hearth/engine'

/** What a metric needs to measure one rung. */
export interface BenchContext {
  readonly hearth: Hearth
  readonly rung: Rung
  readonly capabilities: Capabilities
  /** How many samples of something that takes milliseconds. */
  readonly rounds: number
  readonly quick: boolean
  create(spec?: SandboxSpec): Promise<EmbeddedSandbox>
  /** One line for people while it runs. */
  progress(line: string): void
}

export async function timed(body: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await body()
  return performance.now() - start
}
