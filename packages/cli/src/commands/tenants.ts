import type { Hearth, Quotas, QuotasView, Tenant } from '@hearth/sdk'
import { HearthError } from '@hearth/sdk'
import { presentList, presentOne, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { formatBytes, table } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { eachNamed } from '../server/each-named.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

/** Quotas as they are given; those that are not given stay as they are. */
export interface QuotaOptions extends ServerOptions {
  readonly sandboxes?: number
  readonly cpus?: number
  readonly memory?: number
  readonly disk?: number
  readonly snapshots?: number
  readonly volumes?: number
}

const NAMES = ['sandboxes', 'cpus', 'memoryBytes', 'diskBytes', 'snapshots', 'volumes'] as const

const tenantView: View<Tenant> = {
  header: ['ID', 'NAME', 'AGE', 'SANDBOXES', 'CPUS', 'MEMORY', 'DISK'],
  id: ({ id }) => id,
  row: ({ id, name, createdAt, quotas }) => [
    id,
    printable(name),
    formatAge(createdAt),
    String(quotas.sandboxes),
    String(quotas.cpus),
    formatBytes(quotas.memoryBytes),
    formatBytes(quotas.diskBytes),
  ],
}

export async function listTenants(options: ServerOptions): Promise<number> {
  await presentList(options, await withServer(options, async (hearth) => await hearth.tenants.list()), tenantView)
  return 0
}

export async function createTenant(name: string, options: QuotaOptions): Promise<number> {
  const quotas = quotasOf(options)
  const made = await withServer(options, async (hearth) => await hearth.tenants.create({ name, quotas }))
  const people = (): string => table([tenantView.header, tenantView.row(made)])
  await presentOne(options, { id: made.id, json: made, people })
  return 0
}

/** Shows the quotas of a tenant, or changes those that are given. */
export async function tenantQuotas(name: string, options: QuotaOptions): Promise<number> {
  const change = quotasOf(options)
  const view = await withServer(options, async (hearth) => {
    const { id } = await findTenant(hearth, name)
    if (Object.keys(change).length > 0) await hearth.tenants.setQuotas(id, change)
    return await hearth.tenants.quotas(id)
  })
  await presentQuotas(options, view)
  return 0
}

/** The quotas of the caller's own tenant. */
export async function ownQuotas(options: ServerOptions): Promise<number> {
  await presentQuotas(options, await withServer(options, async (hearth) => await hearth.quotas()))
  return 0
}

export async function removeTenants(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, null, async (hearth, name) => {
    const { id } = await findTenant(hearth, name)
    await hearth.tenants.remove(id)
    return { id, removed: true }
  })
}

/** By its name or its identifier. */
export async function findTenant(hearth: Hearth, name: string): Promise<Tenant> {
  const found = (await hearth.tenants.list()).find((tenant) => tenant.id === name || tenant.name === name)
  if (found !== undefined) return found
  throw new HearthError('not_found', `there is no tenant ${name}`, {
    suggestion: 'Run `hearth tenant ls` to see the tenants.',
  })
}

function quotasOf({ sandboxes, cpus, memory, disk, snapshots, volumes }: QuotaOptions): Partial<Quotas> {
  const all = { sandboxes, cpus, memoryBytes: memory, diskBytes: disk, snapshots, volumes }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

async function presentQuotas(options: ServerOptions, view: QuotasView): Promise<void> {
  const { tenant, limits, usage } = view
  const rows = NAMES.map((name) => [
    name.replace('Bytes', ''),
    formatted(name, usage[name]),
    formatted(name, limits[name]),
    limits[name] === 0 ? '' : `${Math.floor((usage[name] / limits[name]) * 100)}%`,
  ])
  const people = (): string => `tenant ${printable(tenant.name)}\n${table([['QUOTA', 'IN USE', 'LIMIT', ''], ...rows])}`
  await presentOne(options, { id: tenant.id, json: view, people })
}

function formatted(name: (typeof NAMES)[number], value: number): string {
  return name.endsWith('Bytes') ? formatBytes(value) : String(value)
}
