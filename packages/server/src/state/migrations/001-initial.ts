import { sql, type CreateTableBuilder, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

type Schema = Kysely<unknown>['schema']

/** Creates everything. Column types are those that SQLite and Postgres both have with the same meaning. */
export const initial: Migration = {
  async up(database: Kysely<unknown>) {
    await createAccess(database.schema)
    await createSandboxes(database.schema)
    await createOperations(database.schema)
    await createEvents(database.schema)
    await createArtifacts(database.schema)
    await sql`insert into event_sequence (id, value) values (1, 0)`.execute(database)
  },
}

async function createAccess(schema: Schema): Promise<void> {
  await schema
    .createTable('tenants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('quotas', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('secret_hash', 'text', (column) => column.notNull())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute()
  await index(schema, 'api_keys', ['tenant_id', 'created_at', 'id'])
}

async function createSandboxes(schema: Schema): Promise<void> {
  await sandboxLimits(sandboxIdentity(schema.createTable('sandboxes')))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('idle_ms', 'bigint')
    .addColumn('idle_action', 'text')
    .addColumn('persistent', 'integer', (column) => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('host_id', 'text')
    .addColumn('last_active_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('end_reason', 'text')
    .addColumn('version', 'bigint', (column) => column.notNull())
    .execute()
  await index(schema, 'sandboxes', ['tenant_id', 'created_at', 'id'])
  await index(schema, 'sandboxes', ['created_at', 'id'])
  // All that the count for quotas needs, so that it never reads the rows themselves.
  await index(schema, 'sandboxes', ['tenant_id', 'state', 'cpus', 'memory_bytes', 'disk_bytes'])
  await index(schema, 'sandboxes', ['state', 'expires_at'])
  await index(schema, 'sandboxes', ['parent_id'])
  await index(schema, 'sandboxes', ['host_id', 'state'])
  await schema
    .createTable('sandbox_metadata')
    .addColumn('sandbox_id', 'text', (column) => column.notNull().references('sandboxes.id').onDelete('cascade'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('sandbox_metadata_pk', ['sandbox_id', 'key'])
    .execute()
  await index(schema, 'sandbox_metadata', ['key', 'value', 'sandbox_id'])
}

function sandboxIdentity(table: CreateTableBuilder<'sandboxes', never>): CreateTableBuilder<'sandboxes', string> {
  return table
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('rung', 'text', (column) => column.notNull())
    .addColumn('driver', 'text', (column) => column.notNull())
    .addColumn('template', 'text', (column) => column.notNull())
    .addColumn('spec', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
}

function sandboxLimits(table: CreateTableBuilder<'sandboxes', string>): CreateTableBuilder<'sandboxes', string> {
  return table
    .addColumn('limits', 'text', (column) => column.notNull())
    .addColumn('cpus', 'double precision', (column) => column.notNull())
    .addColumn('memory_bytes', 'bigint', (column) => column.notNull())
    .addColumn('disk_bytes', 'bigint', (column) => column.notNull())
}

async function createOperations(schema: Schema): Promise<void> {
  await schema
    .createTable('operations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('sandbox_id', 'text')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('step', 'text')
    .addColumn('idempotency_key', 'text')
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('error', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('operations_idempotency', ['tenant_id', 'kind', 'idempotency_key'])
    .execute()
  await index(schema, 'operations', ['state', 'lease_until', 'created_at'])
  await index(schema, 'operations', ['state', 'updated_at'])
  await index(schema, 'operations', ['sandbox_id', 'created_at'])
}

async function createEvents(schema: Schema): Promise<void> {
  await schema
    .createTable('events')
    .addColumn('seq', 'bigint', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sandbox_id', 'text')
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()
  await index(schema, 'events', ['tenant_id', 'seq'])
  await index(schema, 'events', ['sandbox_id', 'seq'])
  await index(schema, 'events', ['at'])
  await schema
    .createTable('event_sequence')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('value', 'bigint', (column) => column.notNull())
    .execute()
  await schema
    .createTable('event_drops')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('sandbox_id', 'text', (column) => column.notNull())
    .addColumn('through', 'bigint', (column) => column.notNull())
    .addColumn('count', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_drops_pk', ['tenant_id', 'sandbox_id'])
    .execute()
}

async function createArtifacts(schema: Schema): Promise<void> {
  await schema
    .createTable('templates')
    .addColumn('tenant_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('templates_pk', ['tenant_id', 'name'])
    .execute()
  await schema
    .createTable('snapshots')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
    .addColumn('sandbox_id', 'text')
    .addColumn('parent_id', 'text')
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('manifest', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute()
  await index(schema, 'snapshots', ['tenant_id', 'created_at', 'id'])
  await index(schema, 'snapshots', ['sandbox_id'])
  await schema
    .createTable('hosts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('url', 'text')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('heartbeat_at', 'bigint', (column) => column.notNull())
    .execute()
}

async function index(schema: Schema, table: string, columns: readonly string[]): Promise<void> {
  await schema
    .createIndex(`${table}_by_${columns.join('_')}`)
    .on(table)
    .columns([...columns])
    .execute()
}
