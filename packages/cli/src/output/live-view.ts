import type { AgentEvent } from '@hearth/agent'
import { NO_PROGRESS, progressOf, type BudgetLimits, type RunProgress } from '@hearth/contract'
import { money } from './money.ts'
import { fitting } from './columns.ts'
import { eventLine, happenedLine, shortSubject, subAgentName } from './agent-view.ts'

const REDRAW_MS = 200
const CLEAR_LINE = '\r\u001b[K'

interface Lane {
  progress: RunProgress
  budget: BudgetLimits | null
  doing: string
  since: number
}

/**
 * A run on a terminal: what happened scrolls by, and below it stands one line for each branch of the work, with its step, what it does now and
 * what it has used. Elsewhere than on a terminal lines alone.
 */
export class LiveView implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lanes = new Map<string, Lane>()
  readonly #timer: NodeJS.Timeout | null
  #waiting: { readonly what: string; readonly since: number } | null = null
  #held = 0
  #drawn = 0

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#timer = stream.isTTY ? setInterval(() => this.#draw(), REDRAW_MS).unref() : null
  }

  /** `branch` names the line that it belongs to, where there are several. */
  event(event: AgentEvent, branch = ''): void {
    const line = event.type === 'sub_agent' ? happenedLine(event.event) : eventLine(event)
    const own = event.type === 'sub_agent' ? laneName(branch, event.runs) : branch
    this.#note(event, branch)
    if (event.type === 'sub_agent') this.#note(event.event, own)
    this.#erase()
    if (line !== null) this.#stream.write(`${own === '' ? '' : `[${own}] `}${line}\n`)
    this.#draw()
  }

  /** Something that is not of one branch. `waitsFor`: what is done from now on, which stands below the branches until something else is said. */
  say(line: string | null, waitsFor: string | null = null): void {
    this.#waiting = waitsFor === null ? null : { what: waitsFor, since: Date.now() }
    this.#erase()
    if (line !== null) this.#stream.write(`${line}\n`)
    this.#draw()
  }

  /** Nothing is drawn below what scrolls by as long as somebody is asked. */
  hold(): Disposable {
    this.#erase()
    this.#held++
    return { [Symbol.dispose]: () => void this.#held-- }
  }

  #note(event: AgentEvent, branch: string): void {
    const lane = this.#lanes.get(branch) ?? { progress: NO_PROGRESS, budget: null, doing: 'begins', since: Date.now() }
    this.#lanes.set(branch, lane)
    lane.progress = progressOf(lane.progress, event) ?? lane.progress
    if (event.type === 'started') lane.budget = event.budget
    const doing = doingOf(event)
    if (doing !== null) Object.assign(lane, { doing, since: Date.now() })
    if (event.type === 'result') this.#lanes.delete(branch)
  }

  /** Nothing is drawn after it. */
  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#erase()
    this.#lanes.clear()
    this.#waiting = null
  }

  #erase(): void {
    if (this.#drawn === 0) return
    this.#stream.write(`${CLEAR_LINE}${`\u001b[A${CLEAR_LINE}`.repeat(this.#drawn - 1)}`)
    this.#drawn = 0
  }

  #draw(): void {
    if (this.#held > 0 || this.#timer === null || (this.#lanes.size === 0 && this.#waiting === null)) return
    this.#erase()
    const width = Math.max(20, this.#stream.columns - 1)
    // What stands above the window cannot be taken back.
    const height = Math.max(1, this.#stream.rows - 1)
    const now = Date.now()
    const lanes = [...this.#lanes].map(([branch, lane]) => statusLine(branch, lane, now))
    const lines = highest([...lanes, ...this.#waitingLine(now)], height).map((line) => fitting(line, width))
    this.#stream.write(lines.join('\n'))
    this.#drawn = lines.length
  }

  #waitingLine(now: number): string[] {
    if (this.#waiting === null) return []
    const { what, since } = this.#waiting
    return [`${what} (${Math.floor((now - since) / 1000)}s)`]
  }
}

function highest(lines: readonly string[], height: number): readonly string[] {
  if (lines.length <= height) return lines
  const shown = lines.slice(0, height - 1)
  return [...shown, `${lines.length - shown.length} more in a higher window`]
}

function laneName(branch: string, runs: readonly string[]): string {
  return `${branch === '' ? '' : `${branch} `}${subAgentName(runs)}`
}

function doingOf(event: AgentEvent): string | null {
  if (event.type === 'model_called') return 'thinks'
  if (event.type === 'tool_started') return `${event.name} ${shortSubject(event.input)}`.trim()
  if (event.type === 'paused') return 'paused'
  return event.type === 'stopped' ? 'collects the change' : null
}

/** `step 3/60 · 1.2k/2M tokens · $0.02/$5 · 12s/1h · bash npm test (4s)` */
function statusLine(branch: string, { progress, budget, doing, since }: Lane, now: number): string {
  const { spent, lastAt, state } = progress
  const passed = state === 'running' && lastAt !== null ? Math.max(0, now - lastAt) : 0
  const of = (used: string, most: string | undefined): string => (most === undefined ? used : `${used}/${most}`)
  const parts = [
    `step ${of(String(spent.steps), budget?.steps.toString())}`,
    `${of(amount(spent.tokens), budget === null ? undefined : amount(budget.tokens))} tokens`,
    of(
      money(spent.dollars, budget === null ? 0 : budget.dollars),
      budget?.dollars === null || budget === null ? undefined : `$${budget.dollars}`,
    ),
    of(clock(spent.wallTimeMs + passed), budget === null ? undefined : clock(budget.wallTimeMs)),
    `${doing} (${Math.floor((now - since) / 1000)}s)`,
  ]
  return `${branch === '' ? '' : `[${branch}] `}${parts.join(' · ')}`
}

function amount(tokens: number): string {
  if (tokens >= 1_000_000) return `${(tokens / 1_000_000).toFixed(1)}M`
  return tokens >= 1000 ? `${(tokens / 1000).toFixed(1)}k` : String(tokens)
}

function clock(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
