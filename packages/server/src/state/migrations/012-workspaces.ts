import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Repositories that are cached on a host, checkouts that are kept of them, and the workspaces that are made of those. */
export const workspaces: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema
      .createTable('repositories')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('host_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('location', 'text', (column) => column.notNull())
      .addColumn('default_branch', 'text')
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('fetched_at', 'bigint')
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addUniqueConstraint('repositories_by_address', ['tenant_id', 'host_id', 'address'])
      .execute()
    await schema
      .createTable('seeds')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('repository_id', 'text', (column) => column.notNull().references('repositories.id'))
      .addColumn('host_id', 'text', (column) => column.notNull())
      .addColumn('base', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('seeds_by_base', ['repository_id', 'base'])
      .execute()
    await schema
      .createTable('workspaces')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('host_id', 'text', (column) => column.notNull())
      .addColumn('repository_id', 'text', (column) => column.notNull().references('repositories.id'))
      .addColumn('seed_id', 'text')
      .addColumn('volume_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('branch', 'text', (column) => column.notNull())
      .addColumn('base', 'text', (column) => column.notNull())
      .addColumn('head', 'text')
      .addColumn('pushed', 'text')
      .addColumn('pull_request', 'text')
      .addColumn('parent_id', 'text')
      .addColumn('lifetime', 'text', (column) => column.notNull())
      .addColumn('pinned', 'integer', (column) => column.notNull())
      .addColumn('sandbox_id', 'text')
      .addColumn('disk_bytes', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('used_at', 'bigint', (column) => column.notNull())
      .addColumn('rescued', 'text')
      .execute()
    await schema.createIndex('workspaces_by_tenant').on('workspaces').columns(['tenant_id', 'created_at']).execute()
    await schema.createIndex('workspaces_by_repository').on('workspaces').column('repository_id').execute()
    await schema.createIndex('workspaces_by_sandbox').on('workspaces').column('sandbox_id').execute()
  },
}
