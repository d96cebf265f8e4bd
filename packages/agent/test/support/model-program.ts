/** What a program says next, in the terms of no protocol. */
export interface Say {
  /** What it thinks before it says anything, where the protocol has that. */
  readonly thinking?: string
  readonly text?: string
  readonly calls?: readonly SaidCall[]
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cutOff?: boolean
}

export interface SaidCall {
  readonly tool: string
  readonly input?: unknown
  /** The arguments as they are sent, for those that are no JSON. */
  readonly raw?: string
}

/** How a server can fail. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly message?: string }
  /** The connection breaks before or in the middle of the stream. */
  | { readonly disconnect: 'before' | 'midway'; readonly say?: Say }
  /** A stream that never ends. */
  | { readonly flood: true }
  | { readonly hang: true }

export type Turn = Say | Fault

/** What the model has been sent. */
export interface View {
  /** Requests before this one, also those that failed. */
  readonly request: number
  readonly system: string
  readonly users: readonly string[]
  /** Answers of tools, oldest first. */
  readonly observations: readonly string[]
  /** The newest of them, or nothing. */
  readonly last: string
  /** Calls that the model made, as it sees them. */
  readonly calls: number
  readonly characters: number
}

/** A model as a program: a function of what it sees, not a fixed list. */
export type ModelProgram = (view: View) => Turn
