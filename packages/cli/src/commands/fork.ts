import type { ForkOptions as ForkRequest, ForkResult, MemoryMode, RemoteSandbox } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { policyOf, type PolicyOptions } from '../options/policy-options.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { invocation } from '../output/invocation.ts'
import { presentList } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { Progress } from '../output/progress.ts'
import { sandboxView } from '../output/sandbox-view.ts'
import { writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface ForkOptions extends ServerOptions, PolicyOptions {
  readonly count?: number
  readonly memory?: MemoryMode
  readonly env?: Readonly<Record<string, string>>
  readonly meta?: Readonly<Record<string, string>>
  readonly ttl?: number
}

/** Copies of a sandbox as it is now: all of them, or none. */
export async function fork(name: string, options: ForkOptions): Promise<number> {
  const quiet = options.quiet === true || options.json === true
  return await interruptible(
    async (signal) => {
      const made = await withServer(options, async (hearth) => {
        using progress = new Progress(quiet || !process.stderr.isTTY)
        progress.say('forking')
        const parent = await findSandbox(hearth, name, signal)
        return await parent.fork(options.count ?? 1, { ...requestOf(options), signal })
      })
      await present(made, options)
      return 0
    },
    // The server does what it was asked for, whoever waits for it.
    () => process.stderr.write(`hearth: children may be made all the same; \`${invocation()} ls\` shows them\n`),
  )
}

async function present(made: ForkResult<RemoteSandbox>, options: ForkOptions): Promise<void> {
  const { memory, reason, pausedMs } = made
  const children = made.children.map(({ details }) => details)
  if (options.json === true) return await writeJson({ children, memory, reason, pausedMs })
  await presentList(options, children, sandboxView)
  if (options.quiet === true) return
  const processes = memory ? 'Processes go on in them' : `Files alone, no processes: ${printable(reason)}`
  process.stderr.write(`${processes}. The parent stood still for ${Math.round(pausedMs)} ms.\n`)
}

/** Ranges are checked by the server, which knows them. */
function requestOf(options: ForkOptions): ForkRequest {
  const { memory, env, meta, ttl } = options
  return withoutUndefined({ memory, env, metadata: meta, ttlMs: ttl, policy: policyOf(options) })
}
