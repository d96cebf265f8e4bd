import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { Logger } from 'pino'
import type { Caller, ControlPlane } from '../control-plane.ts'
import type { ApiKey, ApiKeyRepository, EventRepository, SecretRepository, TenantRepository } from '../state/index.ts'
import type { RunService } from '../runs/run-service.ts'
import type { Authenticator } from './access/authenticator.ts'
import type { InsideConnections } from './access/inside.ts'
import type { HttpLimits } from './limits.ts'
import type { Metrics } from './metrics.ts'
import type { Operation } from './operation.ts'
import type { PublicAddress } from './previews/public-address.ts'
import type { SignedLinks } from './previews/signed-links.ts'
import type { ProcessHandles } from './streams/process-handles.ts'

export interface AppEnv {
  Bindings: HttpBindings
  Variables: { operation: Operation; caller: Caller; key: ApiKey }
}

export type App = OpenAPIHono<AppEnv>
export type AppContext = Context<AppEnv>

export type KeyStore = Pick<
  ApiKeyRepository,
  'verify' | 'ofSandbox' | 'list' | 'find' | 'create' | 'delegate' | 'revoke' | 'any'
>
export type EventStore = Pick<EventRepository, 'page' | 'follow' | 'head' | 'verify'>
/** Values go in here, and out to the gateway alone. */
export type SecretStore = Pick<SecretRepository, 'put' | 'list' | 'get' | 'remove'>
export type TenantStore = Pick<TenantRepository, 'create' | 'list' | 'get' | 'setQuotas' | 'usage' | 'remove'>

/** What the routes work with. One for each server. */
export interface Services {
  readonly controlPlane: ControlPlane
  readonly keys: KeyStore
  readonly events: EventStore
  readonly tenants: TenantStore
  readonly secrets: SecretStore
  readonly runs: RunService
  readonly access: Authenticator
  /** Who of those that call are sandboxes. */
  readonly inside: InsideConnections
  readonly links: SignedLinks
  readonly processes: ProcessHandles
  readonly limits: HttpLimits
  readonly metrics: Metrics
  readonly logger: Logger
  /** Rejects while the server cannot do its work. */
  readonly ready: () => Promise<void>
  /** Where clients reach this server and its previews. */
  readonly preview: PublicAddress
}

/** For an answer that was written to the connection itself. Its type is nobody's business but the connection's. */
export function alreadySent(): never {
  return RESPONSE_ALREADY_SENT as never
}
