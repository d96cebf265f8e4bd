import type { Rung } from '@hearth/contract'

type Enforcement = 'enforced' | 'approximate' | 'none'

/** What one rung can do on the server's host, or why it cannot. */
export interface RungView {
  readonly rung: Rung
  readonly driver: string
  /** True for the one that a create without demands gets. */
  readonly selected: boolean
  readonly probe:
    | {
        readonly available: true
        readonly label: string
        readonly automatic: boolean
        readonly notes: readonly string[]
        readonly capabilities: {
          readonly processes: boolean
          readonly terminals: boolean
          readonly users: boolean
          readonly ports: boolean
          readonly reconnect: boolean
          /** A command can be held to a narrower policy than its sandbox. */
          readonly narrowing: boolean
          /** Its record can have the processes that commands start. */
          readonly processRecord: boolean
          readonly hostTemplate: boolean
          readonly limits: Readonly<Record<'cpus' | 'memoryBytes' | 'pids' | 'diskBytes' | 'openFiles', Enforcement>>
        }
      }
    | {
        readonly available: false
        readonly reason: string
        /** The command or setting that would make it work. */
        readonly fix: string | null
      }
}
