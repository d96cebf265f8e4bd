import { DEFAULT_LIMITS, HearthError, type Limits } from '@hearth/contract'
import { requireScope } from '../../../http/access/scopes.ts'
import { ResponseWriter } from '../../../http/streams/response-writer.ts'
import type { TemplateBuild } from '../../../state/index.ts'
import type { Recipe } from '../../builds/recipe.ts'
import { DEFAULT_TAG, requireTemplateName } from '../../builds/template-name.ts'
import { routes, type Answer, type Call, type Route } from '../call.ts'
import { isKnown, rootOf } from '../templates.ts'
import { readBuildForm, type BuildForm } from './build-form.ts'
import { recipeOfDockerfile } from './dockerfile-recipe.ts'

const MIB = 1024 ** 2
const DEFAULT_SIZE_MB = 1024

const STATUSES = { waiting: 'queued', building: 'running', ready: 'done', error: 'failed' } as const

/** Template builds: from an image, or from a Dockerfile with its files. */
export const BUILD_ROUTES: readonly Route[] = routes('build', {
  'POST /templates/build': ['sandbox:write', begin],
  'GET /templates/builds': ['sandbox:read', list],
  'GET /templates/builds/{build}': ['sandbox:read', async (call) => shown(200, await buildOf(call))],
  'GET /templates/builds/{build}/logs': ['sandbox:read', logs],
})

async function begin(call: Call): Promise<Answer> {
  const { builds, caller } = call
  requireScope(caller.scopes, 'exec')
  const form = await readBuildForm(call)
  const { name } = requireTemplateName(form.name)
  const recipe = await recipeOf(call, form)
  const others = await builds.list(caller, name)
  if (isKnown(name) || others.some(({ state, tags }) => state === 'ready' && tags.includes(DEFAULT_TAG))) {
    throw new HearthError('conflict', `template ${name} exists: delete it first, or choose another name`)
  }
  const build = await builds.create(caller, { name, tags: [DEFAULT_TAG], limits: limitsOf(form) })
  await builds.begin(caller, build, recipe)
  return shown(202, await builds.get(caller, build.id))
}

/** Commands are root's, in the build as in sandboxes of what it makes. */
async function recipeOf(call: Call, { image_ref, dockerfile, files }: BuildForm): Promise<Recipe> {
  const given = [image_ref, dockerfile].filter((each) => each !== undefined)
  if (given.length !== 1) throw new HearthError('invalid_request', 'form: give either image_ref or dockerfile')
  const { from, steps } =
    dockerfile === undefined ? { from: image_ref ?? '', steps: [] } : recipeOfDockerfile(dockerfile, files)
  return { root: { ...(await rootOf(call, from)), user: 'root' }, steps, start: null, ready: null, user: null }
}

/** The size is that of the whole root, and always sent: it never makes a disk smaller than any sandbox has. */
function limitsOf({ cpu, memory_mb, size_mb }: BuildForm): Partial<Limits> {
  const diskBytes = (size_mb ?? 0) * MIB
  return {
    ...(cpu ? { cpus: cpu } : {}),
    ...(memory_mb ? { memoryBytes: memory_mb * MIB } : {}),
    ...(diskBytes > DEFAULT_LIMITS.diskBytes ? { diskBytes } : {}),
  }
}

async function list(call: Call): Promise<Answer> {
  return { status: 200, json: (await call.builds.list(call.caller)).map(buildView) }
}

/** What it has said; with `follow` also what it says until it is over. */
async function logs(call: Call): Promise<Answer> {
  const build = await buildOf(call)
  const { outgoing, operation, services } = call
  const log = call.builds.log(build.id)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  outgoing.flushHeaders()
  const writer = new ResponseWriter(outgoing, services.limits.writeIdleMs)
  const say = async (message: string): Promise<void> => {
    for (const line of message.split(/\r?\n/)) await writer.write(`data: ${line}\n\n`)
  }
  if (call.query('follow') === '1') {
    const stop = new AbortController()
    operation.streams((reason) => stop.abort(reason))
    const signal = AbortSignal.any([operation.signal, stop.signal])
    for await (const { message } of log?.follow(signal) ?? []) await say(message)
  } else for (const { message } of log?.entries ?? []) await say(message)
  await writer.write('event: done\ndata: end\n\n')
  writer.end()
  return null
}

async function buildOf(call: Call): Promise<TemplateBuild> {
  return await call.builds.get(call.caller, call.parameter('build'))
}

function shown(status: number, build: TemplateBuild): Answer {
  return { status, json: buildView(build) }
}

function buildView({ id, name, state, reason, limits, createdAt, updatedAt }: TemplateBuild): Record<string, unknown> {
  const ended = state === 'ready' || state === 'error'
  return {
    id,
    name,
    status: STATUSES[state],
    ...(reason === null ? {} : { error: reason.message }),
    started_at: new Date(createdAt).toISOString(),
    ...(ended ? { ended_at: new Date(updatedAt).toISOString() } : {}),
    size_mb: limits.diskBytes === undefined ? DEFAULT_SIZE_MB : Math.round(limits.diskBytes / MIB),
  }
}
