import { BUILD_ROUTES } from '../../packages/server/src/dialects/e2b/builds/build-routes.ts'
import { TAG_ROUTES } from '../../packages/server/src/dialects/e2b/builds/tag-routes.ts'
import { COPY_ROUTES } from '../../packages/server/src/dialects/e2b/control/copy-routes.ts'
import { OBSERVING_ROUTES } from '../../packages/server/src/dialects/e2b/control/observing-routes.ts'
import { SANDBOX_ROUTES } from '../../packages/server/src/dialects/e2b/control/sandbox-routes.ts'
import { EVENT_ROUTES } from '../../packages/server/src/dialects/e2b/events/event-routes.ts'
import { LOG_ROUTES } from '../../packages/server/src/dialects/e2b/events/log-routes.ts'
import { WEBHOOK_ROUTES } from '../../packages/server/src/dialects/e2b/events/webhook-routes.ts'
import { VOLUME_ROUTES } from '../../packages/server/src/dialects/e2b/volumes/volume-routes.ts'
import { ACCOUNT_ROUTES } from '../../packages/server/src/dialects/pandastack/account-routes.ts'
import { BUILD_ROUTES as PANDASTACK_BUILD_ROUTES } from '../../packages/server/src/dialects/pandastack/builds/build-routes.ts'
import { COMMAND_ROUTES } from '../../packages/server/src/dialects/pandastack/command-routes.ts'
import { COPY_ROUTES as PANDASTACK_COPY_ROUTES } from '../../packages/server/src/dialects/pandastack/copy-routes.ts'
import { FILE_ROUTES } from '../../packages/server/src/dialects/pandastack/file-routes.ts'
import { PORT_ROUTES } from '../../packages/server/src/dialects/pandastack/port-routes.ts'
import { SANDBOX_ROUTES as PANDASTACK_SANDBOX_ROUTES } from '../../packages/server/src/dialects/pandastack/sandbox-routes.ts'
import { TEMPLATE_ROUTES } from '../../packages/server/src/dialects/pandastack/templates.ts'
import { VOLUME_ROUTES as PANDASTACK_VOLUME_ROUTES } from '../../packages/server/src/dialects/pandastack/volume-routes.ts'

export interface DialectRoute {
  readonly dialect: 'e2b' | 'pandastack'
  readonly method: string
  /** With its parameters in braces. */
  readonly path: string
}

const E2B = [
  ...SANDBOX_ROUTES,
  ...COPY_ROUTES,
  ...OBSERVING_ROUTES,
  ...EVENT_ROUTES,
  ...LOG_ROUTES,
  ...WEBHOOK_ROUTES,
  ...BUILD_ROUTES,
  ...TAG_ROUTES,
  ...VOLUME_ROUTES,
]
const PANDASTACK = [
  ...PANDASTACK_SANDBOX_ROUTES,
  ...COMMAND_ROUTES,
  ...FILE_ROUTES,
  ...PANDASTACK_COPY_ROUTES,
  ...PORT_ROUTES,
  ...PANDASTACK_BUILD_ROUTES,
  ...TEMPLATE_ROUTES,
  ...PANDASTACK_VOLUME_ROUTES,
  ...ACCOUNT_ROUTES,
]

/** Every route of every dialect, as the server has them: a new one is attacked without anybody thinking of it. */
export const DIALECT_ROUTES: readonly DialectRoute[] = [
  ...E2B.map(({ method, path }) => ({ dialect: 'e2b', method, path }) as const),
  ...PANDASTACK.map(({ method, path }) => ({ dialect: 'pandastack', method, path: `/v1${path}` }) as const),
  { dialect: 'pandastack', method: 'GET', path: '/v1/sandboxes/{id}/proxy/8000/' },
]

export function fill(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? 'x'))
}
