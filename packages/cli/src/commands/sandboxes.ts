import { HearthError, type RemoteSandbox, type SandboxDetails, type SleepOptions, type Stats } from '@hearth/sdk'
import { allOf } from '../all-of.ts'
import { failureOf, reportFailure } from '../output/failure.ts'
import { presentList, presentOne, type View } from '../output/present.ts'
import { sandboxFacts, sandboxView, sleepText } from '../output/sandbox-view.ts'
import { formatBytes, table } from '../output/table.ts'
import { formatDuration } from '../output/time.ts'
import { settleAtMost } from '../settle-at-most.ts'
import { eachSandbox } from '../server/each-named.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const DEFAULT_TTL_MS = 3_600_000
/** Sandboxes that are asked at a time. */
const AT_ONCE = 8

export async function get(name: string, options: ServerOptions): Promise<number> {
  const { details } = await withServer(options, async (hearth) => await findSandbox(hearth, name))
  await presentOne(options, { id: details.id, json: details, people: () => table(sandboxFacts(details)) })
  return 0
}

export async function pause(names: readonly string[], options: ServerOptions): Promise<number> {
  return await change(names, options, (sandbox) => sandbox.pause())
}

export async function resume(names: readonly string[], options: ServerOptions): Promise<number> {
  return await change(names, options, (sandbox) => sandbox.resume())
}

/** Ends them and frees what they hold. They can still be looked at for a while, and say why they ended. */
export async function stop(names: readonly string[], options: ServerOptions): Promise<number> {
  return await change(names, options, (sandbox) => sandbox.stop())
}

export async function hibernate(names: readonly string[], options: SleepOptions & ServerOptions): Promise<number> {
  return await change(names, options, (sandbox) => sandbox.hibernate(memoryOf(options)), sleepView)
}

export async function wake(names: readonly string[], options: SleepOptions & ServerOptions): Promise<number> {
  return await change(names, options, (sandbox) => sandbox.wake(memoryOf(options)))
}

function memoryOf({ memory }: SleepOptions): SleepOptions {
  return memory === undefined ? {} : { memory }
}

/** What was put to sleep, and whether its processes were. */
const sleepView: View<SandboxDetails> = {
  header: ['ID', 'STATE', 'PROCESSES'],
  id: ({ id }) => id,
  row: ({ id, state, hibernation }) => [id, state, hibernation === null ? '' : sleepText(hibernation)],
}

export async function renew(names: readonly string[], options: ServerOptions & { ttl?: number }): Promise<number> {
  const duration = names.find((name) => /^\d+(ms|s|m|h|d)$/.test(name))
  if (duration !== undefined) {
    throw new HearthError('invalid_request', `${duration} is a duration, and no sandbox`, {
      suggestion: `Write \`--ttl ${duration}\`.`,
    })
  }
  return await change(names, options, (sandbox) => sandbox.renew(options.ttl ?? DEFAULT_TTL_MS), sandboxView)
}

export async function remove(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachSandbox(names, options, null, async (sandbox) => {
    await sandbox.kill()
    return { id: sandbox.id, state: 'deleted' }
  })
}

async function change(
  names: readonly string[],
  options: ServerOptions,
  step: (sandbox: RemoteSandbox) => Promise<unknown>,
  view: View<SandboxDetails> | null = null,
): Promise<number> {
  return await eachSandbox(names, options, view, async (sandbox) => {
    await step(sandbox)
    return sandbox.details
  })
}

type Usage = Stats & { readonly id: string }

const usageView: View<Usage> = {
  header: ['ID', 'MEMORY', 'CPU TIME', 'PROCESSES', 'DISK', 'UP'],
  id: ({ id }) => id,
  row: (usage) => [
    usage.id,
    `${formatBytes(usage.memoryBytes)} / ${formatBytes(usage.memoryLimitBytes)}`,
    `${(usage.cpuMs / 1000).toFixed(1)}s`,
    String(usage.processes),
    `${formatBytes(usage.diskUsedBytes)} / ${formatBytes(usage.diskLimitBytes)}`,
    formatDuration(usage.uptimeMs),
  ],
}

/** What the named sandboxes use, or all that run. One that is paused is not looked into unless it is named: that would wake it. */
export async function stats(names: readonly string[], options: ServerOptions): Promise<number> {
  const usageOf = async (sandbox: RemoteSandbox): Promise<Usage> => ({ id: sandbox.id, ...(await sandbox.stats()) })
  if (names.length > 0) return await eachSandbox(names, options, usageView, usageOf)
  const settled = await withServer(options, async (hearth) => {
    const running = await allOf(hearth.list({ state: 'running', limit: 1000 }))
    return await settleAtMost(AT_ONCE, running, async ({ id }) => await usageOf(await hearth.get(id)))
  })
  // What ends while all are asked does not run any more.
  const failures = settled.flatMap((one) => (one.status === 'rejected' && !hasEnded(one.reason) ? [one.reason] : []))
  for (const failure of failures) reportFailure(failureOf(failure), options.json === true)
  const running = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  await presentList(options, running, usageView)
  return failures.length > 0 ? 1 : 0
}

function hasEnded(error: unknown): boolean {
  return HearthError.isInstance(error) && ['sandbox_not_found', 'sandbox_ended'].includes(error.code)
}
