import { HearthError } from '@hearth/contract'
import { otlpFromEnvironment } from '../record/otlp-exporter.ts'
import type { ServeOptions } from '../serve.ts'
import type { Configuration } from './configuration.ts'
import { dialectsOfConfiguration } from './dialects.ts'
import { readSmallFile } from './read-configuration.ts'
import { withoutUndefined } from './without-undefined.ts'

/** What `serve` is told for these settings. Secrets are read from the files that they name. The environment wins over a file. */
export async function serveOptionsOf(
  configuration: Configuration,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<ServeOptions> {
  const {
    listen = {},
    publicUrl,
    previewDomain,
    secretKeyFile = null,
    log,
    http,
    quotas,
    pool,
    prepare,
  } = configuration
  const { admission, housekeeping, hosts, gateway, spareKeepers } = configuration
  const database = await databaseUrl(configuration.database)
  const extraRoots = await Promise.all((gateway?.extraRootsFiles ?? []).map(readCertificates))
  const telemetry = otlpFromEnvironment(environment) ?? configuration.telemetry
  return withoutUndefined({
    host: listen.host,
    port: listen.port,
    publicUrl: publicUrl ?? undefined,
    previewDomain: previewDomain ?? undefined,
    database,
    secretKey: secretKeyFile === null ? undefined : (await readSmallFile(secretKeyFile)).trim(),
    logLevel: log?.level ?? undefined,
    dialects: dialectsOfConfiguration(configuration.dialects, listen.host),
    limits: http,
    quotas,
    telemetry,
    prepare,
    engine: withoutUndefined({ pool, spareKeepers, gateway: extraRoots.length === 0 ? undefined : { extraRoots } }),
    lifecycle: withoutUndefined({ ...hosts, admission, housekeeping }),
  }) as ServeOptions
}

async function databaseUrl(database: Configuration['database']): Promise<string | undefined> {
  const { url = null, passwordFile = null } = database ?? {}
  if (passwordFile === null) return url ?? undefined
  if (url === null || !/^postgres(ql)?:/.test(url) || !URL.canParse(url)) {
    throw new HearthError('invalid_request', 'database.passwordFile: needs a database.url that begins with postgres://')
  }
  const whole = new URL(url)
  whole.password = encodeURIComponent((await readSmallFile(passwordFile)).replace(/\r?\n$/, ''))
  return whole.href
}

async function readCertificates(path: string): Promise<string> {
  const text = await readSmallFile(path)
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  throw new HearthError('invalid_request', `gateway.extraRootsFiles: ${path} holds no certificate in PEM`)
}
