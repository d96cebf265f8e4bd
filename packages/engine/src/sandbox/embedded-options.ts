import type { MemoryOutcome } from '@hearth/contract'
import type { Capabilities } from '../drivers/driver.ts'
import type { OnProblem } from '../host/in-background.ts'
import type { Machine } from '../machine/machine.ts'
import type { Captures } from './captures.ts'
import type { CapturedInterpreters } from './code-contexts.ts'
import type { SandboxNetwork } from './sandbox-network.ts'
import type { UnownedRecord } from './sandbox-record.ts'

/** What the sandbox tells its owner about itself: a change is to be written down, an end to be cleaned up. */
export interface SandboxOwner {
  changed(record: UnownedRecord): void
  /** Where its interpreters are: for whoever takes it up when this process is gone. */
  interpreters(found: CapturedInterpreters): void
  ended(): Promise<void>
  /** It is somebody else's from now on. */
  released(): void
  /** Told of what fails while nobody waits for it. */
  readonly onProblem: OnProblem
}

export interface EmbeddedSandboxOptions {
  readonly record: UnownedRecord
  readonly machine: Machine
  readonly capabilities: Capabilities
  readonly owner: SandboxOwner
  readonly captures: Captures
  readonly paused: boolean
  readonly network: SandboxNetwork
  /** Of one that was made of a snapshot. */
  readonly restored: MemoryOutcome | null
  /** Of `runCode`, that go on in it. */
  readonly interpreters: CapturedInterpreters
}
