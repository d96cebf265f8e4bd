import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { TemplateBuild } from '../../../state/index.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { unsupported } from '../failures.ts'
import { ENVD_VERSION } from '../control/views.ts'
import { DEFAULT_TAG, parseTemplateName, requireTags, requireTemplateName } from '../../builds/template-name.ts'

const assignSchema = z.object({ target: z.string().max(256), tags: z.array(z.string().max(128)).min(1).max(32) })
const removeSchema = z.object({ name: z.string().max(256), tags: z.array(z.string().max(128)).min(1).max(32) })

const read = 'sandbox:read' as const
const write = 'sandbox:write' as const

/** Templates that were built, and their tags. */
export const TAG_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/templates', name: 'e2b.template.list', scope: read, handle: list },
  { method: 'GET', path: '/templates/aliases/{template}', name: 'e2b.template.alias', scope: read, handle: alias },
  { method: 'GET', path: '/templates/{template}/tags', name: 'e2b.template.tags', scope: read, handle: tags },
  { method: 'POST', path: '/templates/tags', name: 'e2b.template.tag', scope: write, handle: assign },
  { method: 'DELETE', path: '/templates/tags', name: 'e2b.template.untag', scope: write, handle: unassign },
  { method: 'GET', path: '/templates/{template}', name: 'e2b.template.get', scope: read, handle: get },
  { method: 'PATCH', path: '/templates/{template}', name: 'e2b.template.update', scope: write, handle: publish },
  { method: 'PATCH', path: '/v2/templates/{template}', name: 'e2b.template.update', scope: write, handle: publish },
]

async function list(call: Call): Promise<Answer> {
  const builds = await call.e2b.builds.list(call.caller)
  const names = [...new Set(builds.filter(isThere).map(({ name }) => name))]
  return { status: 200, json: names.map((name) => templateView(name, builds)) }
}

async function get(call: Call): Promise<Answer> {
  const builds = await buildsOf(call, call.parameter('template'))
  const [first] = builds
  const shown = builds.map(({ id, state, createdAt, updatedAt }) => ({
    buildID: id,
    status: state,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  }))
  return { status: 200, json: { ...templateView(first?.name ?? '', builds), builds: shown } }
}

/** A template that was built, or a snapshot of that name. */
async function alias(call: Call): Promise<Answer> {
  const parsed = parseTemplateName(call.parameter('template'))
  if (parsed === null) throw new HearthError('template_not_found', 'there is no such template')
  const builds = await call.e2b.builds.named(call.caller, parsed.name)
  if (builds.some(isThere)) return { status: 200, json: { templateID: parsed.name, public: false } }
  const found = await call.plane.snapshots.get(call.caller, parsed.name)
  return { status: 200, json: { templateID: found.name ?? found.id, public: false } }
}

async function tags(call: Call): Promise<Answer> {
  const builds = await buildsOf(call, call.parameter('template'))
  const all = builds.flatMap((build) =>
    build.tags.map((tag) => ({ tag, buildID: build.id, createdAt: new Date(build.createdAt).toISOString() })),
  )
  return { status: 200, json: all }
}

async function assign(call: Call): Promise<Answer> {
  const { target, tags: given } = await call.body(assignSchema)
  const { name, tag } = requireTemplateName(target)
  const build = await call.e2b.builds.tagged(call.caller, name, tag ?? DEFAULT_TAG)
  if (build === null) throw tagNotFound(name, tag ?? DEFAULT_TAG)
  const wanted = requireTags(given)
  await call.e2b.builds.assign(call.caller, build, wanted)
  return { status: 201, json: { buildID: build.id, tags: wanted } }
}

async function unassign(call: Call): Promise<Answer> {
  const { name: given, tags: listed } = await call.body(removeSchema)
  const { name } = requireTemplateName(given)
  const wanted = requireTags(listed)
  if (wanted.includes(DEFAULT_TAG))
    throw new HearthError('invalid_request', `the tag '${DEFAULT_TAG}' cannot be removed`)
  const known = (await buildsOf(call, name)).flatMap((build) => build.tags)
  const missing = wanted.find((tag) => !known.includes(tag))
  if (missing !== undefined) throw tagNotFound(name, missing)
  await call.e2b.builds.unassign(call.caller, name, wanted)
  return { status: 204 }
}

/** All templates are their tenant's own. */
async function publish(call: Call): Promise<Answer> {
  const body = await call.body(z.object({ public: z.boolean().nullish() }))
  const [build] = await buildsOf(call, call.parameter('template'))
  if (body.public === true) throw unsupported('public templates')
  return { status: 200, json: { names: [build?.name] } }
}

/** Those of a template that are ready; one that has none is not there. */
async function buildsOf(call: Call, template: string): Promise<TemplateBuild[]> {
  const parsed = parseTemplateName(template)
  const builds = parsed === null ? [] : (await call.e2b.builds.named(call.caller, parsed.name)).filter(isThere)
  if (builds.length > 0) return builds
  throw new HearthError('template_not_found', `template '${template.slice(0, 128)}' not found`)
}

export function isThere({ state, tags: given }: TemplateBuild): boolean {
  return state === 'ready' && given.length > 0
}

export function tagNotFound(name: string, tag: string): HearthError {
  return new HearthError('template_not_found', `tag '${tag}' does not exist for template '${name}'`)
}

function templateView(name: string, builds: readonly TemplateBuild[]): Record<string, unknown> {
  const own = builds.filter((build) => build.name === name)
  const [latest] = own.filter(isThere)
  const time = (at: number | undefined): string => new Date(at ?? 0).toISOString()
  const { cpus = 1, memoryBytes = 1024 ** 3, diskBytes = 1024 ** 3 } = latest?.limits ?? {}
  return {
    templateID: name,
    buildID: latest?.id ?? '',
    names: [name],
    aliases: [name],
    public: false,
    cpuCount: Math.max(1, Math.ceil(cpus)),
    memoryMB: Math.floor(memoryBytes / 1024 ** 2),
    diskSizeMB: Math.floor(diskBytes / 1024 ** 2),
    createdAt: time(own.at(-1)?.createdAt),
    updatedAt: time(latest?.updatedAt),
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: own.length,
    buildStatus: 'ready',
    envdVersion: ENVD_VERSION,
  }
}
