import type { Policy } from '@hearth/contract'
import type { Services } from '../../http/app-env.ts'
import type { Operations } from '../../http/operations.ts'
import type { SandboxRecord, NoteRepository, SandboxRepository, WebhookRepository } from '../../state/index.ts'
import type { AccessTokens } from './access/access-tokens.ts'
import type { Builds } from '../builds/builds.ts'
import type { RootPreparation } from '../builds/root-preparation.ts'
import type { BuildFiles } from './builds/build-files.ts'
import type { AutoPauses } from './control/auto-pauses.ts'
import type { Interpreters } from './interpreter/interpreters.ts'
import type { Usage } from './control/usage.ts'
import type { StartedProcesses } from './envd/started-processes.ts'
import type { FileMetadata } from './envd/file-metadata.ts'
import type { Users } from './envd/users.ts'
import type { WebhookDelivery } from './events/webhook-delivery.ts'
import type { VolumeReach } from './volumes/volume-files.ts'
import type { Watchers } from './envd/watchers.ts'

/** What all parts of the dialect work with. */
export interface E2b {
  readonly services: Services
  readonly operations: Operations
  readonly tokens: AccessTokens
  /** Rows of all tenants, for requests that name a sandbox but no key. */
  readonly sandboxes: SandboxRows
  readonly pauses: AutoPauses
  readonly builds: Builds
  readonly roots: RootPreparation
  readonly buildFiles: BuildFiles
  readonly interpreters: Interpreters
  readonly usage: Usage
  readonly started: StartedProcesses
  readonly users: Users
  readonly metadata: FileMetadata
  readonly notes: NoteRepository
  readonly watchers: Watchers
  readonly volumes: VolumeReach
  readonly webhooks: WebhookRepository
  readonly delivery: WebhookDelivery
  /** Networks that are not public and may be told events nevertheless. */
  readonly webhookNetworks: readonly string[]
  /** What sandboxes may reach that name nothing; null for nothing. */
  readonly policy: Policy | null
  /** Below which sandboxes have host names, with the port where it is not that of HTTPS. */
  readonly domain: () => string
}

export interface SandboxRows extends Pick<SandboxRepository, 'scan'> {
  find(id: string): Promise<SandboxRecord | null>
}
