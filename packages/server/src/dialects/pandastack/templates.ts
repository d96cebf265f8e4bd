import { HearthError, type CreateSandbox } from '@hearth/contract'
import { routes, type Answer, type Call, type Route } from './call.ts'
import { unsupported } from './failures.ts'

/** The vendor's templates and what is closest to them here; null is what a create without demands gets. */
const KNOWN: Readonly<Record<string, string | null>> = {
  'ubuntu-24.04': null,
  base: null,
  'code-interpreter': 'code-interpreter',
  agent: 'code-interpreter',
}

export function rootOf(template: string): Pick<CreateSandbox, 'template'> {
  const known = KNOWN[template]
  if (known === null) return {}
  return { template: known ?? template }
}

const builds = (): Promise<Answer> => Promise.reject(unsupported('template builds; give an image as the template'))

export const TEMPLATE_ROUTES: readonly Route[] = routes('template', {
  'GET /templates': [
    'sandbox:read',
    () => Promise.resolve({ status: 200, json: Object.keys(KNOWN).map(templateView) }),
  ],
  'GET /templates/builds': ['sandbox:read', () => Promise.resolve({ status: 200, json: [] })],
  'GET /templates/{name}': ['sandbox:read', one],
  'POST /templates/build': ['sandbox:write', builds],
  'GET /templates/builds/{build}': ['sandbox:read', builds],
  'GET /templates/builds/{build}/logs': ['sandbox:read', builds],
  'DELETE /templates/{name}': ['sandbox:write', builds],
})

async function one(call: Call): Promise<Answer> {
  const name = call.parameter('name')
  if (!Object.hasOwn(KNOWN, name))
    throw new HearthError('template_not_found', `there is no template ${name.slice(0, 64)}`)
  return { status: 200, json: templateView(name) }
}

function templateView(name: string): Record<string, unknown> {
  return {
    name,
    is_global: true,
    label: name,
    description: KNOWN[name] ?? 'the default of the host',
    category: 'base',
    tools: [],
  }
}
