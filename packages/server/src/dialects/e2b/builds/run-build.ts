import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type CreateSandbox, type Sandbox } from '@hearth/contract'
import type { ControlPlane } from '../../../control-plane.ts'
import { rootOf } from '../control/templates.ts'
import { placeAfter, START, type Build, type Place, type Recipe } from './build.ts'

const BUILD_MS = 3_600_000
const READY_MS = 600_000
const RETRY_MS = 2000
/** How long a program has that is started without a way to ask whether it is ready. */
const DEFAULT_READY = 'sleep 20'
/** The image that clients name when nobody chose one. */
const DEFAULT_IMAGE = 'e2bdev/base'

/** Where a build stands, for the message of its failure. */
interface Progress {
  step: string
}

/** Carries a recipe out in a sandbox of its own and keeps that as a snapshot of the template's name. Never rejects. */
export async function runBuild(plane: ControlPlane, build: Build, recipe: Recipe): Promise<void> {
  const progress: Progress = { step: 'base' }
  let made: string | null = null
  try {
    const view = await plane.create(build.caller, await requestOf(plane, build, recipe), {
      idempotencyKey: null,
      signal: AbortSignal.timeout(BUILD_MS),
    })
    made = view.id
    build.log(`building ${build.name} on ${view.rung}`)
    using use = await plane.use(build.caller, view.id)
    await runSteps(use.sandbox, build, recipe, progress)
    progress.step = 'finalize'
    await start(use.sandbox, build, recipe)
    await keep(plane, build, view.id, recipe.startCmd ? 'required' : 'none')
    build.finished()
  } catch (error) {
    build.failed(HearthError.isInstance(error) ? error.message : 'the build failed', progress.step)
  } finally {
    if (made !== null) await plane.delete(build.caller, made).catch(() => build.log('the sandbox of the build stays'))
  }
}

/** Sandboxes of a snapshot begin as the one that it was taken of: so this one has what the recipe ends with. */
async function requestOf(plane: ControlPlane, build: Build, recipe: Recipe): Promise<CreateSandbox> {
  const place = (recipe.steps ?? []).reduce((at, { type, args }) => placeAfter(at, type, args ?? []), START)
  const image = recipe.fromTemplate || recipe.fromImage || DEFAULT_IMAGE
  const root = /^e2bdev\/base(:latest)?$/.test(image) ? {} : await rootOf(plane, build.caller, image)
  return {
    ...root,
    ttlMs: BUILD_MS,
    env: { ...place.env },
    ...(place.user === null ? {} : { user: place.user }),
    ...(place.workdir === null ? {} : { workdir: place.workdir }),
  }
}

async function runSteps(sandbox: Sandbox, build: Build, recipe: Recipe, progress: Progress): Promise<void> {
  let place: Place = { ...START, user: 'user', workdir: '/home/user' }
  for (const [index, { type, args }] of (recipe.steps ?? []).entries()) {
    progress.step = String(index + 1)
    const given = args ?? []
    build.log(`${type} ${given.join(' ')}`)
    place = placeAfter(place, type, given)
    if (type.toUpperCase() === 'RUN')
      await run(sandbox, build, given[0] ?? '', { ...place, user: given[1] || place.user })
    else if (type.toUpperCase() === 'USER')
      await run(sandbox, build, userCommand(place.user ?? ''), { ...place, user: 'root', workdir: '/' })
    else if (place.workdir !== null) await sandbox.files.makeDirectory(place.workdir, { parents: true })
  }
}

/** A user that is not there is made, as E2B does. */
function userCommand(name: string): string {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}$/.test(name)) throw new HearthError('invalid_request', 'USER: is no name')
  return `id ${name} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash ${name}`
}

async function run(sandbox: Sandbox, build: Build, command: string, { user, workdir, env }: Place): Promise<void> {
  const { exitCode, signal, output } = await sandbox.exec(['/bin/bash', '-l', '-c', command], {
    env: { ...env },
    timeoutMs: sandbox.info.limits.wallTimeMs,
    ...(user === null ? {} : { user }),
    ...(workdir === null ? {} : { cwd: workdir }),
  })
  for (const line of output.split('\n').slice(0, 1000)) if (line !== '') build.log(line)
  if (exitCode === 0) return
  const how = signal === null ? `exit status ${exitCode ?? 0}` : `signal: ${signal}`
  throw new HearthError('template_build_failed', `failed to run command '${command.slice(0, 200)}': ${how}`)
}

/** What runs when the snapshot is taken runs in every sandbox of it. */
async function start(sandbox: Sandbox, build: Build, { startCmd, readyCmd }: Recipe): Promise<void> {
  if (startCmd) await (await sandbox.spawn(['/bin/bash', '-l', '-c', startCmd])).detach()
  const question = readyCmd || (startCmd ? DEFAULT_READY : null)
  if (question === null) return
  build.log(`waiting until it is ready: ${question}`)
  const deadline = Date.now() + READY_MS
  while ((await sandbox.exec(['/bin/bash', '-l', '-c', question])).exitCode !== 0) {
    if (Date.now() > deadline)
      throw new HearthError('timeout', `it did not become ready in ${READY_MS / 60_000} minutes`)
    await sleep(RETRY_MS)
  }
}

/** Under the name of the template; the build before it goes. */
async function keep(plane: ControlPlane, build: Build, id: string, memory: 'required' | 'none'): Promise<void> {
  const { caller, name } = build
  try {
    await plane.snapshots.remove(caller, name)
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'snapshot_not_found') throw error
  }
  const call = { idempotencyKey: null, signal: AbortSignal.timeout(BUILD_MS) }
  await plane.copies.snapshot(caller, id, { name, memory }, call)
}
