import { join } from 'node:path'
import { DEFAULT_QUOTAS } from '@hearth/contract'
import { DEFAULT_POOL, DEFAULT_SPARE_KEEPERS, hostPaths } from '@hearth/engine'
import { DEFAULT_WEBHOOKS } from '../dialects/e2b/events/webhook-delivery.ts'
import { DEFAULT_HTTP_LIMITS } from '../http/limits.ts'
import { DEFAULT_ADMISSION } from '../lifecycle/admission.ts'
import { DEFAULT_HOUSEKEEPING } from '../lifecycle/housekeeping.ts'
import { LEASE_MS } from '../lifecycle/lease.ts'
import { SILENT_MS } from '../lifecycle/silent-hosts.ts'
import { DEFAULT_OTLP, otlpFromEnvironment } from '../record/otlp-exporter.ts'
import { DEFAULT_PORT } from '../serve.ts'
import type { Configuration } from './configuration.ts'
import { dialectsOfConfiguration } from './dialects.ts'

/**
 * Every setting with the value that it has, so that a server that is given them behaves the same: null for those that are not set. Passwords
 * and headers for collectors are left out.
 */
export function effectiveConfiguration(
  { listen, publicUrl = null, previewDomain = null, database, secretKeyFile = null, log, ...rest }: Configuration,
  environment: NodeJS.ProcessEnv = process.env,
): object {
  const { e2b, pandastack, policy = null } = dialectsOfConfiguration(rest.dialects, listen?.host)
  const { housekeeping, spareKeepers = DEFAULT_SPARE_KEEPERS, gateway, prepare = true } = rest
  const pool = environment['HEARTH_POOL'] === 'off' ? false : (rest.pool ?? {})
  const telemetry = otlpFromEnvironment(environment) ?? rest.telemetry ?? null
  return {
    listen: { host: '127.0.0.1', port: DEFAULT_PORT, ...listen },
    publicUrl,
    previewDomain,
    database: {
      url: withoutPassword(database?.url ?? `sqlite:${join(hostPaths(environment).home, 'hearth.db')}`),
      passwordFile: database?.passwordFile ?? null,
    },
    secretKeyFile,
    log: { level: log?.level ?? null },
    dialects: {
      e2b: e2b !== undefined && {
        optional: false,
        domain: null,
        ...e2b,
        webhooks: { ...DEFAULT_WEBHOOKS, ...e2b.webhooks },
      },
      pandastack: pandastack !== undefined && { optional: false, ...pandastack },
      policy,
    },
    http: { ...DEFAULT_HTTP_LIMITS, ...rest.http },
    quotas: { ...DEFAULT_QUOTAS, ...rest.quotas },
    admission: { ...DEFAULT_ADMISSION, ...rest.admission },
    pool: pool === false ? false : { ...DEFAULT_POOL, ...pool },
    spareKeepers,
    housekeeping: {
      ...DEFAULT_HOUSEKEEPING,
      ...housekeeping,
      events: { ...DEFAULT_HOUSEKEEPING.events, ...housekeeping?.events },
    },
    hosts: { leaseMs: LEASE_MS, silentMs: SILENT_MS, ...rest.hosts },
    gateway: { extraRootsFiles: [], ...gateway },
    telemetry: telemetry && { ...DEFAULT_OTLP, ...telemetry, headers: {} },
    prepare,
  }
}

function withoutPassword(url: string): string {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) return url
  const shown = new URL(url)
  shown.password = ''
  shown.searchParams.delete('password')
  return shown.href
}
