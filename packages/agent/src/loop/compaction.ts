import type { Message } from '../models/model.ts'
import type { RunState } from './run-state.ts'

/** The conversation is shortened when it has this share of what the model takes, to the share below of it or of itself. */
const FULL = 0.85
const KEPT = 0.3
/** A safe guess where no model has counted. */
const CHARACTERS_PER_TOKEN = 3.5
const DIGEST_CHARACTERS = 12_000
const LINE_CHARACTERS = 200
/** Of one message of a person, and of all that are told again. */
const TOLD_CHARACTERS = 8000
const ALL_TOLD_CHARACTERS = 24_000

export interface Compaction {
  readonly keptFrom: number
  readonly digest: string
}

export function isFull(state: RunState, contextTokens: number): boolean {
  return Math.max(state.contextTokens, estimateTokens(state.messages())) > contextTokens * FULL
}

/**
 * Keeps the task, what people said and the newest turns as they are, and tells what was done before in one line each. No model is asked: it costs nothing,
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
  const gone = turns.slice(0, first)
  const before = linesOf(state.digest)
  const lines = [...before.lines, ...gone.flatMap(({ messages }) => messages.flatMap(digestLines))]
  const told = [...state.toldBefore, ...gone.flatMap((turn) => turn.told)]
  return { keptFrom, digest: digestOf(toldLines(told), lines, before.omitted) }
}

const HEAD = 'The conversation became too long and its beginning was removed.'
const TOLD = 'What people told you in it holds still:'
const DONE = 'What you did in it, oldest first:'

function digestOf(told: readonly string[], lines: readonly string[], omittedBefore: number): string {
  const kept = newest(lines, DIGEST_CHARACTERS)
  const omitted = omittedBefore + lines.length - kept.length
  const rest = omitted > 0 ? [`(${omitted} earlier lines are left out)`] : []
  return [HEAD, ...(told.length === 0 ? [] : [TOLD, ...told]), DONE, ...rest, ...kept].join('\n')
}

/** As they were said, as far as there is room: what a person wants is not for the loop to shorten. */
function toldLines(told: readonly string[]): string[] {
  const cut = told.map((text) => (text.length > TOLD_CHARACTERS ? `${text.slice(0, TOLD_CHARACTERS)} [cut off]` : text))
  return newest(cut, ALL_TOLD_CHARACTERS).map((text) => `> ${text}`)
}

function newest(lines: readonly string[], mostCharacters: number): string[] {
  let size = 0
  const rest = lines.toReversed().findIndex((line) => (size += line.length + 1) > mostCharacters)
  return lines.slice(rest === -1 ? 0 : lines.length - rest)
}

/** What an earlier digest says was done: it is the end of it, and has a line for each thing. */
function linesOf(digest: string): { lines: string[]; omitted: number } {
  const all = digest.split('\n')
  const lines = all.slice(all.lastIndexOf(DONE) + 1)
  const [, omitted] = /^\((\d+) earlier lines/.exec(lines[0] ?? '') ?? []
  if (digest === '') return { lines: [], omitted: 0 }
  return omitted === undefined ? { lines, omitted: 0 } : { lines: lines.slice(1), omitted: Number(omitted) }
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
