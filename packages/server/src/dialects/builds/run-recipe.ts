import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type Sandbox } from '@hearth/contract'
import type { BuildLog } from './build-log.ts'
import { copyFiles } from './copy-files.ts'
import { placeAfter, requireUserName, START, type Place, type Recipe, type Step } from './recipe.ts'

const READY_MS = 600_000
const RETRY_MS = 2000
/** How long a program has that is started without a way to ask whether it is ready. */
const DEFAULT_READY = 'sleep 20'
const MOST_LINES = 1000

export interface Building {
  readonly sandbox: Sandbox
  readonly log: BuildLog
  readonly signal: AbortSignal
  /** The number of the instruction, or `base` or `finalize`. */
  at(step: string): void
}

/** Carries a recipe out. */
export async function runRecipe(building: Building, recipe: Recipe): Promise<void> {
  let place: Place = START
  if (recipe.user !== null) {
    place = { ...START, user: recipe.user.name, workdir: recipe.user.home }
    await makeUser(building, recipe.user.name)
    await run(building, `mkdir -p '${recipe.user.home}' && chown '${recipe.user.name}' '${recipe.user.home}'`, AS_ROOT)
  }
  for (const [index, { text, step }] of recipe.steps.entries()) {
    building.at(String(index + 1))
    building.log.say(text)
    place = placeAfter(place, step)
    await carryOut(building, step, place, index + 1)
  }
  building.at('finalize')
  await start(building, recipe, place.user)
}

async function carryOut(building: Building, step: Step, place: Place, number: number): Promise<void> {
  const { sandbox, log, signal } = building
  switch (step.kind) {
    case 'run':
      return await run(building, step.command, { ...place, user: step.user ?? place.user })
    case 'copy':
      return await copyFiles(sandbox, log, step, place, { number, signal })
    case 'user':
      return await makeUser(building, step.name)
    case 'workdir': {
      const user = place.user === null ? {} : { user: place.user }
      return await sandbox.files.makeDirectory(place.workdir ?? '/', { parents: true, ...user })
    }
    case 'note':
      return log.say(step.text)
    case 'env':
  }
}

const AS_ROOT: Place = { user: 'root', workdir: '/', env: {} }

/** A user that is not there is made, whichever of the usual programs the root has for it. */
async function makeUser(building: Building, given: string): Promise<void> {
  const name = requireUserName(given)
  const command = `id '${name}' >/dev/null 2>&1 || useradd --create-home --shell /bin/bash '${name}' 2>/dev/null || adduser -D '${name}'`
  await run(building, command, AS_ROOT)
}

async function run(building: Building, command: string, { user, workdir, env }: Place): Promise<void> {
  const { sandbox, log, signal } = building
  const failed = (how: string): HearthError =>
    new HearthError('template_build_failed', `failed to run command '${command.slice(0, 200)}': ${how}`)
  const options = {
    env: { ...env },
    timeoutMs: sandbox.info.limits.wallTimeMs,
    signal,
    ...(user === null ? {} : { user }),
    ...(workdir === null ? {} : { cwd: workdir }),
  }
  const ended = await sandbox.exec(await shell(sandbox, command), options).catch((error: unknown) => {
    if (!HearthError.isInstance(error) || error.code !== 'spawn_failed') throw error
    const unknown = user !== null && /user/.test(error.message)
    throw failed(`command failed: ${unknown ? `unauthenticated: invalid username: '${user}'` : error.message}`)
  })
  for (const line of ended.output.split('\n').slice(0, MOST_LINES)) if (line !== '') log.say(line)
  if (ended.exitCode === 0) return
  if (ended.timedOut) throw failed('it ran longer than a command may')
  throw failed(ended.signal === null ? `exit status ${ended.exitCode ?? 0}` : `signal: ${ended.signal}`)
}

/** A login shell of bash, as E2B has it, where there is one. */
async function shell(sandbox: Sandbox, command: string): Promise<string[]> {
  const bash = await sandbox.files.stat('/bin/bash').then(
    () => true,
    () => false,
  )
  return bash ? ['/bin/bash', '-l', '-c', command] : ['/bin/sh', '-c', command]
}

/** What runs when the snapshot is taken runs in every sandbox of it. */
async function start(building: Building, recipe: Recipe, user: string | null): Promise<void> {
  const { sandbox, log, signal } = building
  const as = user === null ? {} : { user }
  if (recipe.start !== null) await (await sandbox.spawn(await shell(sandbox, recipe.start), as)).detach()
  const question = recipe.ready ?? (recipe.start === null ? null : DEFAULT_READY)
  if (question === null) return
  log.say(`waiting until it is ready: ${question}`)
  const deadline = Date.now() + READY_MS
  while ((await sandbox.exec(await shell(sandbox, question), { signal, ...as })).exitCode !== 0) {
    if (Date.now() > deadline)
      throw new HearthError('timeout', `it did not become ready in ${READY_MS / 60_000} minutes`)
    await sleep(RETRY_MS, undefined, { signal })
  }
}
