import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hostPaths } from '../../packages/engine/src/host/host.ts'
import { ensureStore } from '../../packages/engine/src/store/disk-store.ts'
import { installAdvice } from './advice.ts'
import { installMissing, type Failure } from './apt.ts'
import { Attempts } from './attempts.ts'
import { readDistribution, type Distribution } from './distribution.ts'
import { Steps } from './progress.ts'
import { findMissing, type Missing } from './requirements.ts'
import { lastLines, runCommand } from './run-command.ts'

const GUEST = join(import.meta.dirname, '../../guest')
/** An installed package has the program alone. */
const HAS_SOURCES = existsSync(join(GUEST, 'Makefile'))

export interface SetupOptions {
  /** Also what only the tests need. */
  readonly tests: boolean
  /** Asks again for packages that were not to be had lately. */
  readonly retry: boolean
  /** Problems are told alone. Default false. */
  readonly quiet?: boolean
}

/** Makes this machine ready. Returns false only when the guest program could not be built: without it there is no real rung. */
export async function setup(options: SetupOptions): Promise<boolean> {
  const steps = new Steps(options.quiet)
  const paths = hostPaths()
  // Only its owner may look below: sandboxes' files lie there under other user ids.
  await mkdir(paths.home, { recursive: true, mode: 0o700 })
  await installPackages(options, new Attempts(join(paths.cache, 'setup.json')), steps)
  const built = await buildGuest(steps)
  if (built) await makeStore(steps)
  return built
}

async function installPackages(options: SetupOptions, attempts: Attempts, steps: Steps): Promise<void> {
  const missing = await findMissing({ tests: options.tests, build: HAS_SOURCES })
  if (missing.length === 0) return
  const distribution = await readDistribution()
  if (!distribution.root || !distribution.apt) {
    await advise(missing, distribution, steps)
    return
  }
  const known = options.retry ? new Map() : await attempts.recent()
  const tried = new Map<string, Missing>()
  const failures: Failure[] = []
  let still: readonly Missing[] = missing
  // What was installed can show that more is missing: the sanitizers of a compiler that was not there.
  for (;;) {
    const wanted = still.filter(({ requirement: { package: name } }) => !known.has(name) && !tried.has(name))
    if (wanted.length === 0) break
    for (const entry of wanted) tried.set(entry.requirement.package, entry)
    failures.push(...(await installMissing(wanted, distribution, steps)))
    still = await findMissing({ tests: options.tests, build: HAS_SOURCES })
  }
  if (tried.size > 0) await attempts.remember([...known.values(), ...failures])
  const got = [...tried.values()].filter(
    ({ requirement: { package: name } }) => !still.some((other) => other.requirement.package === name),
  )
  if (got.length > 0) steps.done(`installed ${got.map(({ requirement }) => requirement.package).join(', ')}`)
  for (const { requirement, reason } of still) {
    const why =
      [...known.values(), ...failures].find((failure) => failure.package === requirement.package)?.reason ?? reason
    steps.problem(`without ${requirement.package} (${requirement.purpose}): ${why}`)
  }
}

async function advise(missing: readonly Missing[], distribution: Distribution, steps: Steps): Promise<void> {
  steps.problem(
    `missing: ${missing.map(({ requirement }) => `${requirement.package} (${requirement.purpose})`).join(', ')}`,
  )
  steps.line(
    distribution.root
      ? 'There is no apt here. To add them:'
      : 'This is not root, so nothing was installed. To add them:',
  )
  for (const command of await installAdvice(missing, distribution)) steps.line(command)
  steps.line('Going on with the rungs that work without them.')
}

async function buildGuest(steps: Steps): Promise<boolean> {
  if (!HAS_SOURCES) return true
  const make = ['-C', GUEST, '--no-print-directory']
  if ((await runCommand('make', [...make, '--question'])).code === 0) return true
  const result = await steps.step('building the guest program', async (detail) => {
    return await runCommand('make', make, { onLine: detail })
  })
  if (result.code === 0) return true
  steps.problem(`the guest program was not built:\n${lastLines(result.output, 20)}`)
  return false
}

async function makeStore(steps: Steps): Promise<void> {
  const store = await steps.step('preparing the disk store', async () => await ensureStore(hostPaths()))
  if (store.kind === 'directory') steps.problem(`disk limits will be kept in memory: ${store.reason}`)
}
