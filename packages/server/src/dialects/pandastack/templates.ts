import { DEFAULT_LIMITS, HearthError, type CreateSandbox } from '@hearth/contract'
import type { TemplateBuild } from '../../state/index.ts'
import { DEFAULT_TAG, parseTemplateName } from '../builds/template-name.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'

const MIB = 1024 ** 2

/** The vendor's templates and what is closest to them here; null is what a create without demands gets. */
const KNOWN: Readonly<Record<string, string | null>> = {
  'ubuntu-24.04': null,
  base: null,
  'code-interpreter': 'code-interpreter',
  agent: 'code-interpreter',
}

export function isKnown(name: string): boolean {
  return Object.hasOwn(KNOWN, name)
}

/** Where the files of a new sandbox come from: one of the vendor's templates, one that was built, a snapshot by its name, a template of Hearth, or an image. */
export async function rootOf(call: Call, template: string): Promise<Pick<CreateSandbox, 'template' | 'from'>> {
  if (isKnown(template)) {
    const known = KNOWN[template] ?? null
    return known === null ? {} : { template: known }
  }
  const parsed = parseTemplateName(template)
  if (parsed === null || parsed.tag !== null || template.includes('/')) return { template }
  const built = await call.builds.tagged(call.caller, parsed.name, DEFAULT_TAG)
  if (built !== null) return { from: built.snapshotId }
  try {
    return { from: (await call.plane.snapshots.get(call.caller, parsed.name)).id }
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'snapshot_not_found') throw error
    return { template }
  }
}

export const TEMPLATE_ROUTES: readonly Route[] = routes('template', {
  'GET /templates': ['sandbox:read', list],
  'GET /templates/{name}': ['sandbox:read', one],
  'DELETE /templates/{name}': ['sandbox:write', remove],
})

async function list(call: Call): Promise<Answer> {
  const built = (await call.builds.list(call.caller)).filter(isThere)
  return { status: 200, json: [...Object.keys(KNOWN).map(knownView), ...built.map(builtView)] }
}

async function one(call: Call): Promise<Answer> {
  const name = call.parameter('name')
  return { status: 200, json: isKnown(name) ? knownView(name) : builtView(await builtOf(call, name)) }
}

/** With all its tags: those that another vendor's client gave lead nowhere either. */
async function remove(call: Call): Promise<Answer> {
  const name = call.parameter('name')
  if (isKnown(name)) throw new HearthError('forbidden', `template ${name} is everybody's`)
  const { name: own } = await builtOf(call, name)
  const tags = (await call.builds.list(call.caller, own)).flatMap((build) => build.tags)
  await call.builds.unassign(call.caller, own, tags)
  return { status: 204 }
}

async function builtOf(call: Call, name: string): Promise<TemplateBuild> {
  const builds = await call.builds.list(call.caller, parseTemplateName(name)?.name ?? name)
  const found = builds.find(isThere)
  if (found !== undefined) return found
  throw new HearthError('template_not_found', `there is no template ${name.slice(0, 64)}`)
}

function isThere({ state, tags }: TemplateBuild): boolean {
  return state === 'ready' && tags.includes(DEFAULT_TAG)
}

function knownView(name: string): Record<string, unknown> {
  const description = KNOWN[name] ?? 'the default of the host'
  return { name, is_global: true, label: name, description, category: 'base', tools: [] }
}

function builtView({ name, tenantId, limits }: TemplateBuild): Record<string, unknown> {
  const { cpus, memoryBytes, diskBytes } = { ...DEFAULT_LIMITS, ...limits }
  return {
    name,
    is_global: false,
    workspace: tenantId,
    label: name,
    description: '',
    category: 'custom',
    tools: [],
    cpu: cpus,
    memory_mb: Math.round(memoryBytes / MIB),
    size_bytes: diskBytes,
  }
}
