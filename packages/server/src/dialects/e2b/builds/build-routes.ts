import { HearthError, parseInput, snapshotNameSchema } from '@hearth/contract'
import { z } from 'zod'
import { requireScope } from '../../../http/access/scopes.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { snapshotOf } from '../control/templates.ts'
import { unsupported } from '../failures.ts'
import { Build, placeAfter, recipeSchema, START } from './build.ts'
import { runBuild } from './run-build.ts'

const newTemplateSchema = z.object({
  name: z.string().min(1).max(128),
  tags: z.array(z.string()).nullish(),
  cpuCount: z.number().nullish(),
  memoryMB: z.number().nullish(),
})

/** Builds that are remembered; of those that are over, the oldest go first. */
const MOST_BUILDS = 200
/** At one time, of all tenants. */
const MOST_RUNNING = 4

export class Builds {
  readonly #builds = new Map<string, Build>()

  add(build: Build): void {
    if (this.#builds.size >= MOST_BUILDS) {
      const old = [...this.#builds.values()].find(({ over }) => over) ?? [...this.#builds.values()][0]
      if (old !== undefined) this.#builds.delete(old.id)
    }
    this.#builds.set(build.id, build)
  }

  /** Another tenant's is not there. */
  get(call: Call): Build {
    const build = this.#builds.get(call.parameter('build'))
    if (build?.caller.tenantId === call.caller.tenantId && build.name === call.parameter('template')) return build
    throw new HearthError('not_found', `build '${call.parameter('build').slice(0, 64)}' not found`)
  }

  requireRoom(): void {
    const running = [...this.#builds.values()].filter((build) => build.isRunning).length
    if (running >= MOST_RUNNING) throw new HearthError('too_many', `${running} builds are under way`)
  }
}

const write = 'sandbox:write' as const

/** Template builds, as far as they are commands: each becomes a snapshot of the template's name. */
export const BUILD_ROUTES: readonly Route[] = [
  { method: 'POST', path: '/v3/templates', name: 'e2b.template.create', scope: write, handle: create },
  {
    method: 'POST',
    path: '/v2/templates/{template}/builds/{build}',
    name: 'e2b.template.build',
    scope: write,
    handle: begin,
  },
  {
    method: 'GET',
    path: '/templates/{template}/builds/{build}/status',
    name: 'e2b.template.status',
    scope: write,
    handle: status,
  },
  {
    method: 'GET',
    path: '/templates/aliases/{template}',
    name: 'e2b.template.get',
    scope: 'sandbox:read',
    handle: alias,
  },
]

async function create(call: Call): Promise<Answer> {
  const { name, tags } = await call.body(newTemplateSchema)
  if ((tags ?? []).some((tag) => tag !== 'default')) throw unsupported('tags of templates')
  const snapshot = parseInput(snapshotNameSchema, snapshotOf(name) ?? name, 'name')
  const build = new Build(snapshot, call.caller)
  call.e2b.builds.add(build)
  const names = { names: [snapshot], aliases: [snapshot], tags: ['default'] }
  return { status: 202, json: { templateID: snapshot, buildID: build.id, public: false, ...names } }
}

async function begin(call: Call): Promise<Answer> {
  const recipe = await call.body(recipeSchema)
  const build = call.e2b.builds.get(call)
  requireScope(call.caller.scopes, 'exec')
  if ((recipe.fromImageRegistry ?? null) !== null) throw unsupported('registries with credentials in a template build')
  // What cannot be done is said before anything is.
  for (const { type, args } of recipe.steps ?? []) placeAfter(START, type, args ?? [])
  call.e2b.builds.requireRoom()
  build.begin()
  void runBuild(call.plane, build, recipe)
  return { status: 202 }
}

async function status(call: Call): Promise<Answer> {
  return { status: 200, json: call.e2b.builds.get(call).view(call.integer('logsOffset', 0, 1e6) ?? 0) }
}

async function alias(call: Call): Promise<Answer> {
  const name = snapshotOf(call.parameter('template'))
  if (name === null) throw new HearthError('snapshot_not_found', 'there is no such template')
  const found = await call.plane.snapshots.get(call.caller, name)
  return { status: 200, json: { templateID: found.name ?? found.id, public: false } }
}
