import { describe } from 'vitest'
import { describeApiKeys, describeHosts, describeTenants } from './access.ts'
import { describeClaims } from './claims.ts'
import { describeEvents } from './events.ts'
import { describeLifecycleModel } from './lifecycle-model.ts'
import { describeOperations } from './operations.ts'
import { describeQuotas, type QuotaSuiteOptions } from './quotas.ts'
import { describeRaces } from './races.ts'
import { describeSandboxList } from './sandbox-list.ts'
import { describeSandboxes } from './sandboxes.ts'
import { describeTransactions } from './transactions.ts'

export { PostgresCluster, whyNoPostgres } from './postgres-cluster.ts'
export type { TestDatabase } from './store-suite.ts'

/** What every store must do, whatever database is below it. */
export function describeStore(options: QuotaSuiteOptions): void {
  describe(`store on ${options.name}`, () => {
    describe('sandboxes', () => describeSandboxes(options))
    describe('lifecycle model', () => describeLifecycleModel(options))
    describe('races', () => describeRaces(options))
    describe('list', () => describeSandboxList(options))
    describe('quotas', () => describeQuotas(options))
    describe('tenants', () => describeTenants(options))
    describe('API keys', () => describeApiKeys(options))
    describe('hosts', () => describeHosts(options))
    describe('operations', () => describeOperations(options))
    describe('claims', () => describeClaims(options))
    describe('events', () => describeEvents(options))
    describe('transactions', () => describeTransactions(options))
  })
}
