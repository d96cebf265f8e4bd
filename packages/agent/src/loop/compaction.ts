import type { Message } from '../models/model.ts'
import type { RunState } from './run-state.ts'

/** The conversation is shortened when it has this share of what the model takes, to the share below of it or of itself. */
const FULL = 0.85
const KEPT = 0.3
/** A safe guess where no model has counted. */
const CHARACTERS_PER_TOKEN = 3.5
const DIGEST_CHARACTERS = 12_000
const LINE_CHARACTERS = 200

export interface Compaction {
  readonly keptFrom: number
  readonly digest: string
}

export function isFull(state: RunState, contextTokens: number): boolean {
  return Math.max(state.contextTokens, estimateTokens(state.messages())) > contextTokens * FULL
}

/**
 * Keeps the task and the newest turns as they are, and tells what was done before in one line each. No model is asked: it costs nothing,
 * and it cannot fail. Null when there is nothing that could go.
 */
export function compact(state: RunState, contextTokens: number): Compaction | null {
  const mostKept = Math.min(contextTokens, estimateTokens(state.messages())) * KEPT
  const turns = state.turns
  let kept = 0
  let first = turns.length
  while (first > 1) {
    const tokens = estimateTokens(turns[first - 1]?.messages ?? [])
    // The newest turn stays in any case: its calls may wait for their answers.
    if (first < turns.length && kept + tokens > mostKept) break
    kept += tokens
    first--
  }
  const keptFrom = turns[first]?.seq
  if (first <= 1 || keptFrom === undefined) return null
  const lines = turns.slice(0, first).flatMap(({ messages }) => messages.flatMap(digestLines))
  return { keptFrom, digest: digestOf(lines) }
}

function digestOf(lines: readonly string[]): string {
  const kept: string[] = []
  let size = 0
  for (const line of lines.toReversed()) {
    size += line.length + 1
    if (size > DIGEST_CHARACTERS) break
    kept.unshift(line)
  }
  const omitted = lines.length - kept.length
  const head = 'The conversation became too long and its beginning was removed. What you did in it, oldest first:'
  return [head, ...(omitted > 0 ? [`(${omitted} earlier lines are left out)`] : []), ...kept].join('\n')
}

function digestLines(message: Message): string[] {
  if (message.role !== 'assistant') return []
  const said = message.text === '' ? [] : [`- you said: ${shorten(message.text)}`]
  return [...said, ...message.calls.map((call) => `- ${call.name} ${shorten(JSON.stringify(call.input) ?? '')}`)]
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}...` : line
}

function estimateTokens(messages: readonly Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / CHARACTERS_PER_TOKEN)
}
