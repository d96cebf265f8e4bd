import type { Duplex } from 'node:stream'
import type { Recorder, SandboxId, Secret } from '@hearth/contract'
import type { OnProblem } from '../host/in-background.ts'
import type { Resolve } from './dial/lookups.ts'

/** What the gateways of all sandboxes of one Hearth share. */
export interface GatewayOptions {
  /** Values of secrets, by name, for the sandbox that uses them; null for one that is not there. Without it no sandbox can use any. */
  readonly secrets?: (name: string, sandbox: SandboxId) => Promise<Secret | null>
  /** Told what a sandbox reached and what it was refused. */
  readonly recorder?: (sandbox: SandboxId) => Recorder
  /**
   * Serves a connection that a sandbox makes to its own Hearth: requests of HTTP/1.1, each checked and made anew. Without it there is none
   * for any sandbox.
   */
  readonly ownHearth?: (sandbox: SandboxId, connection: Duplex) => void
  /** Told of what fails while nobody waits for it. Default: none. */
  readonly onProblem?: OnProblem
  readonly gateway?: {
    /** How names are resolved. Default: as the host does. */
    readonly resolve?: Resolve
    /** PEM of authorities that are trusted besides the system's when TLS is opened. */
    readonly extraRoots?: readonly string[]
  }
}
