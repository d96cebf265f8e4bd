import type { ApiKey, Scope } from '@hearth/sdk'
import { grantOf } from '../options/grant-option.ts'
import { presentList, presentOne, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { formatAge, formatUntil } from '../output/time.ts'
import { write, writeJson } from '../output/write.ts'
import { findTenant } from './tenants.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface KeyOptions extends ServerOptions {
  readonly scope?: readonly string[]
  readonly expires?: number
  /** JSON, or a file that holds it. */
  readonly grant?: string
  /** Of another tenant, by name or identifier. */
  readonly tenant?: string
}

/** Keys of the caller's tenant, or for operators of another one. */
export type TenantKeyOptions = Pick<KeyOptions, 'tenant'> & ServerOptions

const keyView: View<ApiKey> = {
  header: ['ID', 'NAME', 'SCOPES', 'AGE', 'ENDS', 'LAST USED'],
  id: ({ id }) => id,
  row: (key) => [
    key.id,
    printable(key.name),
    key.scopes.join(','),
    formatAge(key.createdAt),
    key.revokedAt === null ? formatUntil(key.expiresAt) : 'revoked',
    key.lastUsedAt === null ? 'never' : `${formatAge(key.lastUsedAt)} ago`,
  ],
}

/** The key itself is on standard output and nowhere else: it cannot be shown again. */
export async function createKey(name: string, options: KeyOptions): Promise<number> {
  // Scopes are checked by the server, which knows them.
  const scopes = options.scope as readonly Scope[] | undefined
  const made = await withServer(options, async (hearth) => {
    const { expires: expiresInMs } = options
    const request = {
      name,
      ...(scopes === undefined ? {} : { scopes }),
      ...(expiresInMs === undefined ? {} : { expiresInMs }),
    }
    if (options.tenant !== undefined) {
      return await hearth.tenants.createKey((await findTenant(hearth, options.tenant)).id, request)
    }
    const grant = options.grant === undefined ? {} : { grant: grantOf(options.grant, '--grant') }
    return await hearth.keys.create({ ...request, ...grant })
  })
  await presentOne(options, { id: made.key, json: made, people: () => `${made.key}\n` })
  if (options.json !== true && options.quiet !== true) {
    const ends = made.expiresAt === null ? 'does not expire' : `ends ${formatUntil(made.expiresAt)}`
    process.stderr.write(`${made.id} may ${made.scopes.join(', ')} and ${ends}. It is shown this once.\n`)
  }
  return 0
}

export async function listKeys(options: TenantKeyOptions): Promise<number> {
  const { tenant } = options
  const keys = await withServer(options, async (hearth) =>
    tenant === undefined ? await hearth.keys.list() : await hearth.tenants.keys((await findTenant(hearth, tenant)).id),
  )
  await presentList(options, keys, keyView)
  return 0
}

export async function revokeKeys(ids: readonly string[], options: TenantKeyOptions): Promise<number> {
  await withServer(options, async (hearth) => {
    const tenant = options.tenant === undefined ? null : await findTenant(hearth, options.tenant)
    for (const id of ids) {
      if (tenant === null) await hearth.keys.revoke(id)
      else await hearth.tenants.revokeKey(tenant.id, id)
      if (options.json !== true) await write(process.stdout, `${id}\n`)
    }
  })
  if (options.json === true) {
    const revoked = ids.map((id) => ({ id, revoked: true }))
    await writeJson(revoked.length === 1 ? revoked[0] : revoked)
  }
  return 0
}
