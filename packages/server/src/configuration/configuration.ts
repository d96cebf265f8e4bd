import { DEFAULT_QUOTAS, policySchema } from '@hearth/contract'
import { DEFAULT_POOL } from '@hearth/engine'
import { z } from 'zod'
import { DEFAULT_WEBHOOKS } from '../dialects/e2b/events/webhook-delivery.ts'
import { DEFAULT_HTTP_LIMITS } from '../http/limits.ts'
import { DEFAULT_ADMISSION } from '../lifecycle/admission.ts'
import { DEFAULT_HOUSEKEEPING } from '../lifecycle/housekeeping.ts'
import { DEFAULT_OTLP } from '../record/otlp-exporter.ts'
import { DEFAULT_RETENTION } from '../state/index.ts'
import { AGE, COUNT, HELD_BYTES, numbersLike } from './numbers.ts'

const text = z.string().min(1).max(4096)
/** Relative to the folder of the file that names it. */
const path = text
const port = z.int().min(0).max(65_535)

const e2bSchema = z
  .strictObject({
    port,
    /** The server starts without it when its port is taken. */
    optional: z.boolean(),
    domain: z
      .string()
      .regex(/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/, 'must be a domain, with a port or without one')
      .nullable(),
    webhooks: z
      .strictObject({
        networks: z
          .array(z.union([z.cidrv4(), z.cidrv6()], 'must be a network such as 10.0.0.0/8'))
          .max(100)
          .readonly(),
        ...numbersLike(without(DEFAULT_WEBHOOKS, 'networks'), { oldestMs: AGE }),
      })
      .partial(),
  })
  .partial()

const pandastackSchema = z.strictObject({ port, optional: z.boolean() }).partial()

const housekeepingSchema = z
  .strictObject({
    ...numbersLike(without(DEFAULT_HOUSEKEEPING, 'events'), {
      endedMs: AGE,
      operationMs: AGE,
      keyMs: AGE,
      runMs: AGE,
      orphanVolumeMs: AGE,
    }),
    events: z.strictObject(numbersLike(DEFAULT_RETENTION, { maximumPerSandbox: COUNT, maximumAgeMs: AGE })).partial(),
  })
  .partial()

const telemetrySchema = z
  .strictObject({
    url: z.url({ protocol: /^https?$/, error: 'must begin with http:// or https://' }),
    headers: z.record(z.string().regex(/^[\w-]{1,100}$/), z.string().max(4096)),
    service: text,
    ...numbersLike(without(DEFAULT_OTLP, 'service')),
  })
  .partial()
  .required({ url: true })

/** Everything that an operator can say of a server in a file. What is left out, or null, has its default. */
export const configurationSchema = z
  .strictObject({
    listen: z.strictObject({ host: text, port }).partial(),
    /** Where clients reach it behind a proxy. */
    publicUrl: text.nullable(),
    previewDomain: text.nullable(),
    database: z
      .strictObject({
        /** `sqlite:PATH` or `postgres://...`. */
        url: text.nullable(),
        /** Holds the password for Postgres. */
        passwordFile: path.nullable(),
      })
      .partial(),
    /** Holds the key that encrypts secrets and signs records. */
    secretKeyFile: path.nullable(),
    log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).nullable() }).partial(),
    dialects: z
      .strictObject({
        e2b: z.union([z.literal(false), e2bSchema]).nullable(),
        pandastack: z.union([z.literal(false), pandastackSchema]).nullable(),
        /** What their sandboxes that name nothing, and their template builds, may reach. */
        policy: policySchema.nullable(),
      })
      .partial(),
    /** What one client may cost the server. */
    http: z
      .strictObject(
        numbersLike(DEFAULT_HTTP_LIMITS, {
          headerBytes: z
            .int()
            .min(1024)
            .max(1024 ** 2),
          jsonBytes: HELD_BYTES,
          commandBytes: HELD_BYTES,
          answerBytes: HELD_BYTES,
          messageBytes: HELD_BYTES,
        }),
      )
      .partial(),
    /** Of new tenants. */
    quotas: z.strictObject(numbersLike(DEFAULT_QUOTAS, { cpus: z.number().min(0).max(1_000_000) }, 0)).partial(),
    /** What must stay free on this host. */
    admission: z.strictObject(numbersLike(DEFAULT_ADMISSION, {}, 0)).partial(),
    pool: z.union([z.literal(false), z.strictObject(numbersLike(DEFAULT_POOL, {}, 0)).partial()]),
    /** Keepers held ready for the next creates. */
    spareKeepers: z.int().min(0).max(100),
    /** What is kept for how long, and how often the server looks. */
    housekeeping: housekeepingSchema,
    /** How long an operation is held, and how long a host may be silent. */
    hosts: z.strictObject(numbersLike({ leaseMs: 0, silentMs: 0 })).partial(),
    gateway: z
      .strictObject({
        /** PEM of authorities that are trusted besides the system's when TLS is opened. */
        extraRootsFiles: z.array(path).max(100),
      })
      .partial(),
    /** A collector of OpenTelemetry. */
    telemetry: telemetrySchema.nullable(),
    /** Tries all rungs at the start, so that no create waits for that. */
    prepare: z.boolean(),
  })
  .partial()

export type Configuration = z.output<typeof configurationSchema>

function without<Value extends object, Name extends keyof Value>(value: Value, name: Name): Omit<Value, Name> {
  const { [name]: _, ...rest } = value
  return rest
}
