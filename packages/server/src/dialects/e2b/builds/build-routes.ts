import { HearthError, type Limits } from '@hearth/contract'
import { z } from 'zod'
import { requireScope } from '../../../http/access/scopes.ts'
import type { TemplateBuild } from '../../../state/index.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { recipeOf, recipeSchema } from './e2b-recipe.ts'
import { DEFAULT_TAG, parseTemplateName, requireTags, requireTemplateName } from '../../builds/template-name.ts'
import { uploadLink } from './upload-links.ts'

const LOG_PAGE = 100
/** The last time that there is. */
const LATEST_MS = 8.64e14
const MIB = 1024 ** 2

const newTemplateSchema = z.object({
  name: z.string().min(1).max(128),
  tags: z.array(z.string().max(128)).max(32).nullish(),
  cpuCount: z.number().positive().max(1024).nullish(),
  memoryMB: z.int().positive().max(16_777_216).nullish(),
  minFreeDiskMb: z.int().positive().max(16_777_216).nullish(),
})

const write = 'sandbox:write' as const

/** Template builds: what is to be built, the files for it, how far it is. */
export const BUILD_ROUTES: readonly Route[] = [
  route('POST', '/v3/templates', 'create', create),
  route('POST', '/v2/templates/{template}/builds/{build}', 'build', begin),
  route('GET', '/templates/{template}/builds/{build}/status', 'status', status),
  route('GET', '/templates/{template}/builds/{build}/logs', 'logs', logs),
  route('GET', '/templates/{template}/files/{hash}', 'files', files),
]

function route(method: string, path: string, name: string, handle: Route['handle']): Route {
  return { method, path, name: `e2b.template.${name}`, scope: write, handle }
}

async function create(call: Call): Promise<Answer> {
  const body = await call.body(newTemplateSchema)
  const { name, tag } = requireTemplateName(body.name)
  const given = [...new Set([...(tag === null ? [] : [tag]), ...requireTags(body.tags ?? [])])]
  const tags = given.length === 0 ? [DEFAULT_TAG] : given
  const build = await call.e2b.builds.create(call.caller, { name, tags, limits: limitsOf(body) })
  const names = { names: [name], aliases: [name], tags }
  return { status: 202, json: { templateID: name, buildID: build.id, public: false, ...names } }
}

function limitsOf({ cpuCount, memoryMB, minFreeDiskMb }: z.output<typeof newTemplateSchema>): Partial<Limits> {
  return {
    ...(cpuCount ? { cpus: cpuCount } : {}),
    ...(memoryMB ? { memoryBytes: memoryMB * MIB } : {}),
    ...(minFreeDiskMb ? { diskBytes: minFreeDiskMb * MIB } : {}),
  }
}

async function begin(call: Call): Promise<Answer> {
  const given = await call.body(recipeSchema)
  const build = await buildOf(call)
  requireScope(call.caller.scopes, 'exec')
  await call.e2b.builds.begin(call.caller, build, await recipeOf(call, given))
  return { status: 202 }
}

async function status(call: Call): Promise<Answer> {
  const { id, name, state, reason } = await buildOf(call)
  const offset = call.integer('logsOffset', 0, 1e6) ?? 0
  const logEntries = call.e2b.builds.log(id)?.entries.slice(offset, offset + LOG_PAGE) ?? []
  return {
    status: 200,
    json: {
      templateID: name,
      buildID: id,
      status: state,
      logs: logEntries.map(({ message }) => message),
      logEntries,
      ...(reason === null ? {} : { reason: { ...reason, logEntries: [] } }),
    },
  }
}

/** From a time on, or backwards from one; `level` is the least. */
async function logs(call: Call): Promise<Answer> {
  const { id } = await buildOf(call)
  const backward = call.query.get('direction') === 'backward'
  const cursor = call.integer('cursor', 0, LATEST_MS) ?? (backward ? LATEST_MS : 0)
  const limit = call.integer('limit', 0, LOG_PAGE) ?? LOG_PAGE
  const errors = ['warn', 'error'].includes(call.query.get('level') ?? '')
  const entries = call.e2b.builds.log(id)?.entries ?? []
  const wanted = (backward ? entries.toReversed() : entries).filter(({ timestamp, level }) => {
    const at = Date.parse(timestamp)
    return (backward ? at <= cursor : at >= cursor) && (level === 'error' || !errors)
  })
  return { status: 200, json: { logs: wanted.slice(0, limit) } }
}

/** The link is there also when the files are: a client may want to send them again. */
async function files(call: Call): Promise<Answer> {
  const hash = call.parameter('hash')
  const present = await call.e2b.buildFiles.present(call.caller.tenantId, hash)
  return { status: 201, json: { present: present !== null, url: uploadLink(call, hash), headers: {} } }
}

async function buildOf(call: Call): Promise<TemplateBuild> {
  const build = await call.e2b.builds.get(call.caller, call.parameter('build'))
  if (parseTemplateName(call.parameter('template'))?.name === build.name) return build
  throw new HearthError('not_found', `build '${build.id}' is of another template`)
}
