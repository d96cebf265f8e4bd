import type { AgentEvent, Sandbox } from '@hearth/contract'
import type { EventLog } from '../events/event-log.ts'
import { forkRun, type ForkedRun, type ForkRunOptions } from '../loop/fork-run.ts'
import { Leases } from '../machines/leases.ts'
import type { CandidateReport } from './search-types.ts'

const DEPTH = 1
const WIDTH = 2

export interface TreeOptions {
  /** How often it is gone on from failed attempts. Default 1. */
  readonly depth?: number
  /** Branches each time. Default 2. */
  readonly width?: number
}

/** Where an attempt began to fail: machine and conversation of that instant. */
export interface TreeNode {
  readonly name: string
  readonly run: ForkedRun
}

type ForkHere = (options: Pick<ForkRunOptions, 'ttlMs'>) => Promise<ForkedRun[]>

/** Keeps of each attempt the step at which it first failed, and says where to go on when all have failed. */
export class Tree implements AsyncDisposable {
  readonly #options: TreeOptions | undefined
  readonly #leases: Leases
  readonly #nodes = new Map<number, Promise<ForkedRun | null>>()
  readonly #commands = new Map<number, string>()
  #depth = 0

  constructor(options: TreeOptions | undefined, leaseMs: number) {
    this.#options = options
    this.#leases = new Leases(leaseMs)
  }

  /** Told of each event of an attempt. The first check that fails, by itself or at a submission, is where others may go on. */
  watch(attempt: number, event: AgentEvent, verify: string | undefined, fork: ForkHere): void {
    if (this.#options === undefined || this.#nodes.has(attempt)) return
    if (event.type === 'tool_started') this.#commands.set(attempt, commandOf(event.input))
    const checked = verify === undefined || (this.#commands.get(attempt) ?? '').includes(verify)
    const failed =
      (event.type === 'tool_ended' && event.name === 'bash' && event.outcome === 'failed' && checked) ||
      (event.type === 'submitted' && !event.accepted && event.verified === false)
    if (failed) this.#keep(attempt, fork({ ttlMs: this.#leases.leaseMs }))
  }

  /** An attempt whose checks all passed while it worked can only be gone on with from its end. */
  async keepEnd(
    attempt: number,
    ended: { readonly sandbox: Sandbox; readonly log: EventLog; readonly directory: string },
  ): Promise<void> {
    if (this.#options === undefined || ((await this.#nodes.get(attempt)) ?? null) !== null) return
    const { sandbox, log, directory } = ended
    const state = { directory, copied: false }
    this.#keep(attempt, forkRun({ sandbox, log, state, ttlMs: this.#leases.leaseMs }))
    await this.#nodes.get(attempt)
  }

  #keep(attempt: number, forked: Promise<ForkedRun[]>): void {
    const node = forked.then(
      ([run]) => {
        if (run !== undefined) this.#leases.hold(run.sandbox)
        return run ?? null
      },
      // The attempt ended first, or its machine did: then there is nothing to go on from.
      () => null,
    )
    this.#nodes.set(attempt, node)
  }

  /** Where the attempt that came closest began to fail, once for each branch; nothing when it is deep enough. */
  async next(reports: readonly CandidateReport[]): Promise<{ readonly node: TreeNode; readonly child: number }[]> {
    const { depth = DEPTH, width = WIDTH } = this.#options ?? { depth: 0 }
    if (this.#depth++ >= depth) return []
    const missing = ({ unfixed, broken }: CandidateReport): number => unfixed.length + broken.length
    const failed = reports
      .filter(({ outcome }) => outcome === 'failed' || outcome === 'flaky' || outcome === 'no_change')
      .toSorted((left, right) => missing(left) - missing(right) || right.index - left.index)
    for (const { index, name } of failed) {
      const run = (await this.#nodes.get(index)) ?? null
      if (run !== null) return Array.from({ length: width }, (_, child) => ({ node: { name, run }, child }))
    }
    return []
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leases[Symbol.dispose]()
    for (const node of this.#nodes.values()) await (await node)?.[Symbol.asyncDispose]()
  }
}

function commandOf(input: unknown): string {
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : ''
  return typeof command === 'string' ? command : ''
}
