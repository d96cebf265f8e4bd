import { describe } from 'vitest'
import { describeApiKeys, describeHosts, describeTenants } from './access.ts'
import { describeClaims } from './claims.ts'
import { describeDelegatedKeys } from './delegated-keys.ts'
import { describeEvents } from './events.ts'
import { describeLifecycleModel } from './lifecycle-model.ts'
import { describeOperations } from './operations.ts'
import { describeQuotas, type QuotaSuiteOptions } from './quotas.ts'
import { describeRaces } from './races.ts'
import { describeRecord } from './record.ts'
import { describeRuns } from './runs.ts'
import { describeSandboxList } from './sandbox-list.ts'
import { describeSandboxes } from './sandboxes.ts'
import { describeSecrets } from './secrets.ts'
import { describeStoredSnapshots } from './snapshots.ts'
import { describeStoredVolumes } from './volumes.ts'
import { describeTransactions } from './transactions.ts'
import { describeNotes } from './notes.ts'
import { describeTemplateBuilds } from './template-builds.ts'
import { describeWebhooks } from './webhooks.ts'
import { describeStoredWorkspaces } from './workspaces.ts'
import type { StoreSuiteOptions } from './store-suite.ts'

export { PostgresCluster, whyNoPostgres } from './postgres-cluster.ts'
export type { TestDatabase } from './store-suite.ts'

const PARTS: Readonly<Record<string, (options: StoreSuiteOptions) => void>> = {
  sandboxes: describeSandboxes,
  'lifecycle model': describeLifecycleModel,
  races: describeRaces,
  list: describeSandboxList,
  tenants: describeTenants,
  'API keys': describeApiKeys,
  hosts: describeHosts,
  operations: describeOperations,
  claims: describeClaims,
  events: describeEvents,
  transactions: describeTransactions,
  snapshots: describeStoredSnapshots,
  volumes: describeStoredVolumes,
  record: describeRecord,
  secrets: describeSecrets,
  webhooks: describeWebhooks,
  'template builds': describeTemplateBuilds,
  notes: describeNotes,
  workspaces: describeStoredWorkspaces,
  runs: describeRuns,
}

/** What every store must do, whatever database is below it. */
export function describeStore(options: QuotaSuiteOptions): void {
  describe(`store on ${options.name}`, () => {
    for (const [part, describePart] of Object.entries(PARTS)) {
      describe(part, () => {
        describePart(options)
      })
    }
    describe('quotas', () => {
      describeQuotas(options)
    })
    describe('delegated keys', () => {
      describeDelegatedKeys(options)
    })
  })
}
