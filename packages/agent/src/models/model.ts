import type { Finish } from '@hearth/contract'

/** A call of a tool as the model wrote it. `input` is whatever the model sent: nothing about it has been checked. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** Why the call cannot be understood at all, for example because its arguments are not JSON. */
  readonly malformed?: string
}

export interface ToolAnswer {
  readonly id: string
  readonly name: string
  readonly text: string
}

/** The conversation in a form that no provider owns. */
export type Message =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant'
      readonly text: string
      readonly calls: readonly ToolCall[]
      /** What the provider wants back as it was, such as signed reasoning. */
      readonly replay?: unknown
    }
  | { readonly role: 'tool'; readonly answers: readonly ToolAnswer[] }

export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

export interface Usage {
  /** All input, also what came out of a cache. */
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  /** All output, also reasoning. */
  readonly outputTokens: number
}

export const NO_USAGE: Usage = { inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 }

export interface ModelRequest {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDescription[]
  readonly maxOutputTokens: number
  /** How many replies this run has had before. */
  readonly turn: number
  /** Default: the provider's. */
  readonly temperature?: number
  readonly signal: AbortSignal
}

export interface ModelReply {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly finish: Finish
  readonly usage: Usage
  readonly replay?: unknown
}

/** One call is one step: a model never runs a tool itself, and never tries again by itself. */
export interface Model {
  /** As it was asked for, for example `anthropic:claude-sonnet-5-5`. */
  readonly name: string
  /** Tokens that the conversation may have, with the reply. */
  readonly contextTokens: number
  /** Throws a `ModelFailure`, or what the signal was aborted with. */
  call(request: ModelRequest): Promise<ModelReply>
}
