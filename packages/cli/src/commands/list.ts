import type { ListFilters, SandboxDetails } from '@hearth/sdk'
import { allOf } from '../all-of.ts'
import { invocation } from '../output/invocation.ts'
import { presentList } from '../output/present.ts'
import { hasEnded, sandboxView } from '../output/sandbox-view.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface ListOptions extends ServerOptions {
  readonly all?: boolean
  readonly state?: string
  readonly rung?: string
  readonly meta?: Readonly<Record<string, string>>
}

/** The sandboxes that live, newest first; with `--all` or `--state` those that have ended too. */
export async function list(options: ListOptions): Promise<number> {
  const found = await withServer(options, async (hearth) => await allOf(hearth.list(filtersOf(options))))
  const showsEnded = options.all === true || options.state !== undefined
  const shown = showsEnded ? found : found.filter(({ state }) => !hasEnded(state))
  await presentList(options, shown, sandboxView)
  if (process.stdout.isTTY && options.json !== true && options.quiet !== true) hint(found, shown)
  return 0
}

function hint(found: readonly SandboxDetails[], shown: readonly SandboxDetails[]): void {
  const left = found.length - shown.length
  if (left > 0) process.stderr.write(`(${left} that ended; --all shows them)\n`)
  else if (found.length === 0) process.stderr.write(`(none; \`${invocation()} create\` makes one)\n`)
}

/** Names are checked by the server, which knows them. */
function filtersOf(options: ListOptions): ListFilters {
  const { state, rung, meta } = options
  return {
    limit: 1000,
    ...(state === undefined ? {} : { state: state as NonNullable<ListFilters['state']> }),
    ...(rung === undefined ? {} : { rung: rung as NonNullable<ListFilters['rung']> }),
    ...(meta === undefined ? {} : { metadata: meta }),
  }
}
