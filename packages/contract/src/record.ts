import type { Refusal } from './policy.ts'

/** The command that caused an entry: its process number. Null where the rung cannot tell. */
interface Caused {
  readonly process: number | null
}

interface Reached extends Caused {
  readonly name: string
  readonly port: number
  /** False when only `audit` let it pass. */
  readonly named: boolean
}

interface Passed extends Reached {
  /** `opened`: TLS that was looked into. */
  readonly protocol: 'tcp' | 'tls' | 'opened' | 'http'
  readonly sentBytes: number
  readonly receivedBytes: number
  readonly durationMs: number
}

/** What happened in a sandbox. Everything that a guest chose is cut to a bounded length before it gets here. */
export type RecordEntry =
  | (Caused & {
      readonly kind: 'command'
      readonly command: string | readonly string[]
      readonly cwd: string | null
      readonly user: string | null
      /** What the client called the step that it belongs to. What the command causes belongs to it too. */
      readonly step: string | null
      /** It was found, not started: in a copy of a sandbox, or after a restart of the server, which died before it could record the start. */
      readonly found?: true
    })
  | (Caused & {
      readonly kind: 'exit'
      readonly exitCode: number | null
      readonly signal: string | null
      readonly durationMs: number
      readonly timedOut: boolean
      readonly oom: boolean
    })
  | (Caused & {
      readonly kind: 'code'
      readonly language: string
      readonly code: string
      readonly step: string | null
      readonly durationMs: number
      /** The name of the error that it ended with. */
      readonly error: string | null
      readonly timedOut: boolean
      readonly oom: boolean
    })
  /** A process has executed a program. Copies that a process makes of itself are none until they do. */
  | (Caused & {
      readonly kind: 'process'
      readonly pid: number
      readonly parent: number
      readonly argv: readonly string[]
      /** How much of the arguments could be read: a process that is gone before that has a name alone. */
      readonly seen: 'whole' | 'cut' | 'name'
    })
  | (Caused & {
      readonly kind: 'process-exit'
      readonly pid: number
      readonly exitCode: number | null
      readonly signal: string | null
      /** Since its first program. */
      readonly durationMs: number
    })
  | (Caused & { readonly kind: 'file'; readonly path: string; readonly change: 'added' | 'changed' | 'removed' })
  /** A connection that stays open for a while, before it ends. */
  | (Passed & { readonly kind: 'opened'; readonly connection: string })
  /** What has passed so far in one of those. */
  | (Passed & { readonly kind: 'progress'; readonly connection: string })
  /** A connection that has ended. */
  | (Passed & {
      readonly kind: 'connection'
      /** What its entries as an open one were told apart by. */
      readonly connection?: string
      /** Why it could not be made or broke off; null when it ended as it should. */
      readonly failure: string | null
    })
  | (Reached & {
      readonly kind: 'request'
      readonly method: string
      readonly path: string
      readonly status: number | null
      /** Names of the secrets that were put in. */
      readonly secrets: readonly string[]
    })
  | (Caused & {
      readonly kind: 'refusal'
      readonly name: string
      readonly port: number | null
      readonly refusal: Refusal
      readonly message: string
      readonly method?: string
      readonly path?: string
      /** How many equal ones followed the one before within seconds. */
      readonly repeated?: number
    })

/** Takes entries as they come. It never throws and never waits: what it cannot keep, it counts. */
export interface Recorder {
  add(entry: RecordEntry): void
}
