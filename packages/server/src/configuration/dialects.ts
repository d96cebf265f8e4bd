import type { ServeOptions } from '../serve.ts'
import type { Configuration } from './configuration.ts'
import { withoutUndefined } from './without-undefined.ts'

const PORTS = { e2b: 7071, pandastack: 7072 } as const
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

type Dialects = NonNullable<ServeOptions['dialects']>

/**
 * Other vendors' APIs that the server speaks: those that are set. One of which nothing is said is spoken on loopback alone, where its port
 * is free.
 */
export function dialectsOfConfiguration(settings: Configuration['dialects'] = {}, host = '127.0.0.1'): Dialects {
  const usual = LOOPBACK.has(host) ? { optional: true } : false
  const e2b = settings.e2b ?? usual
  const pandastack = settings.pandastack ?? usual
  return withoutUndefined({
    e2b: e2b === false ? undefined : e2bOptions(e2b),
    pandastack: pandastack === false ? undefined : withoutUndefined({ port: PORTS.pandastack, ...pandastack }),
    policy: settings.policy ?? undefined,
  }) as Dialects
}

function e2bOptions(
  settings: Exclude<NonNullable<Configuration['dialects']>['e2b'], false | null | undefined>,
): object {
  return withoutUndefined({ port: PORTS.e2b, ...settings, domain: settings.domain ?? undefined })
}
