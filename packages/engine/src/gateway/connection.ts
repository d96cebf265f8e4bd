import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import type { Recorder } from '@hearth/contract'
import type { OnProblem } from '../host/in-background.ts'
import type { RunningRequests } from './http/running-requests.ts'
import type { Verdicts } from './policy/narrowed-policy.ts'
import type { SandboxSecrets } from './secrets/sandbox-secrets.ts'
import type { CertificateAuthority } from './tls/authority.ts'

/** A connection out of a sandbox whose content is looked at, from its first byte on. */
export interface InspectedConnection {
  /** The name that was asked for. The host keeps it; the guest cannot choose another. */
  readonly name: string
  readonly port: number
  /** The number of the command that made it; null where it cannot be told. */
  readonly process: number | null
  /** Everything the guest sends, the first bytes included. Half-open: its end is not the end of what goes to the guest. */
  readonly stream: Duplex
  /** The guest speaks TLS, and its SNI is the name. */
  readonly secure: boolean
  /** In force now: it may change during the connection. */
  readonly policy: () => Verdicts
  readonly secrets: SandboxSecrets
  readonly authority: CertificateAuthority
  readonly recorder: Recorder
  /** What is under way, for whoever changes the policy. */
  readonly running: RunningRequests
  /** A socket to the name and port, checked; throws `egress_refused` or `port_refused`. */
  readonly dial: (signal?: AbortSignal) => Promise<Socket>
  /** PEM of authorities that are trusted besides the system's; servers of tests have such. */
  readonly extraRoots: readonly string[]
  /** Told of failures of the gateway itself. */
  readonly onProblem: OnProblem
  /** Aborted when the sandbox ends or the connection is no longer allowed. */
  readonly signal: AbortSignal
}
