import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { BACKPORTS_FILE, backportsSource, hasBackports, readAptSources } from './apt-sources.ts'
import type { Distribution } from './distribution.ts'
import type { Steps } from './progress.ts'
import { needsBackports, type Missing } from './requirements.ts'
import { lastLines, runCommand, type CommandResult } from './run-command.ts'

/** How long another package manager may hold the lock before we give up. */
const LOCK_SECONDS = 120

/** A package that could not be installed, and why. */
export interface Failure {
  readonly package: string
  readonly reason: string
}

/** Installs what is missing; what cannot be had is returned, never thrown. Needs root and apt. */
export async function installMissing(
  missing: readonly Missing[],
  distribution: Distribution,
  steps: Steps,
): Promise<Failure[]> {
  const backports = needsBackports(distribution) && missing.some(({ requirement }) => requirement.backports === true)
  if (backports) await addBackports(distribution, steps)
  const updated = await steps.step('refreshing the package lists', async (detail) => await apt(['update'], detail))
  if (updated.code !== 0) steps.problem(`apt-get update failed:\n${lastLines(updated.output)}`)
  const failures: Failure[] = []
  const groups = [
    { suite: null, members: missing.filter(({ requirement }) => !backports || requirement.backports !== true) },
    {
      suite: `${distribution.codename}-backports`,
      members: backports ? missing.filter((entry) => entry.requirement.backports === true) : [],
    },
  ]
  for (const { suite, members } of groups) {
    if (members.length > 0) failures.push(...(await installGroup(members, suite, steps)))
  }
  return failures
}

/** All at once, since that is quickest; if it fails, one by one, so that one bad package does not keep out the others. */
async function installGroup(members: readonly Missing[], suite: string | null, steps: Steps): Promise<Failure[]> {
  const names = members.map(({ requirement }) => requirement.package)
  const together = await install(names, suite, steps)
  if (together.code === 0) return []
  const failures: Failure[] = []
  for (const { requirement } of members) {
    const alone = members.length === 1 ? together : await install([requirement.package], suite, steps)
    if (alone.code === 0) continue
    // Without the other suite the release's own package still serves, unless it is known to be too old.
    const plainServes = suite !== null && requirement.minimum === undefined
    if (plainServes && (await install([requirement.package], null, steps)).code === 0) continue
    const { alternative } = requirement
    if (alternative !== undefined && (await install([alternative], null, steps)).code === 0) continue
    failures.push({ package: requirement.package, reason: aptReason(alone.output) })
  }
  return failures
}

async function install(names: readonly string[], suite: string | null, steps: Steps): Promise<CommandResult> {
  const from = suite === null ? '' : ` from ${suite}`
  return await steps.step(
    `installing ${names.join(', ')}${from}`,
    async (detail) =>
      await apt(
        ['install', '-y', '--no-install-recommends', ...(suite === null ? [] : ['-t', suite]), ...names],
        detail,
      ),
  )
}

async function addBackports(distribution: Distribution, steps: Steps): Promise<void> {
  const sources = await readAptSources()
  if (hasBackports(sources, distribution.codename)) return
  const text = backportsSource(sources, distribution.codename)
  if (text === null) {
    steps.problem(`no apt source has ${distribution.codename}, so its backports cannot be added`)
    return
  }
  await writeFile(BACKPORTS_FILE, text, { mode: 0o644 })
  steps.done(`added ${distribution.codename}-backports in ${BACKPORTS_FILE}`)
}

/** apt waits for the lock of dpkg by itself, but not for the lock of the package lists: for that one we come back. */
async function apt(args: readonly string[], detail: (text: string) => void): Promise<CommandResult> {
  const giveUp = Date.now() + LOCK_SECONDS * 1000
  for (;;) {
    const result = await runCommand(
      'apt-get',
      ['-q', '-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`, '-o', 'Dpkg::Use-Pty=0', ...args],
      { env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' }, onLine: detail },
    )
    const locked = result.code !== 0 && /Could not get lock|Unable to lock/.test(result.output)
    if (!locked || Date.now() > giveUp) return result
    detail('another package manager is busy, waiting')
    await sleep(3000)
  }
}

/** The line in which apt says what is wrong. */
export function aptReason(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  return (
    lines
      .find((line) => line.startsWith('E:'))
      ?.slice(2)
      .trim() ??
    lines.findLast((line) => line !== '') ??
    'apt-get failed'
  )
}
