import { HearthError } from '../errors.ts'
import { findExcess } from './compare.ts'
import { DEFAULT_DELEGATED_SANDBOXES, type Exceeded, type Grant, type GrantRequest } from './grant.ts'

/** A grant that is a part of another one, or all that it asks for in vain. */
export type Attenuated =
  | { readonly ok: true; readonly grant: Grant }
  | { readonly ok: false; readonly exceeded: readonly Exceeded[] }

/**
 * What somebody with one grant gives on. The result allows nothing that the parent's does not; a request for more is refused as a whole,
 * and says each field and what would have been possible. Pure, and never throws for parsed input.
 */
export function attenuate(parent: Grant, request: GrantRequest): Attenuated {
  const wanted = complete(parent, request)
  const exceeded = findExcess(wanted, { ...parent, depth: parent.depth - 1 })
  return exceeded.length === 0 ? { ok: true, grant: wanted } : { ok: false, exceeded }
}

/** Fills in what a request leaves out. */
function complete(parent: Grant, request: GrantRequest): Grant {
  return {
    policy: request.policy ?? {},
    secrets: request.secrets ?? [],
    paths: overlaid(parent.paths, request.paths),
    tools: request.tools ?? parent.tools,
    atLeast: request.atLeast ?? parent.atLeast,
    templates: request.templates ?? parent.templates,
    budget: overlaid(parent.budget, request.budget),
    deadline: request.deadline === undefined ? parent.deadline : request.deadline,
    ttlMs: request.ttlMs ?? parent.ttlMs,
    depth: request.depth ?? 0,
    children: request.children ?? Math.min(DEFAULT_DELEGATED_SANDBOXES, parent.children),
    limits: overlaid(parent.limits, request.limits),
  }
}

/** The fields of the second where it has them. */
function overlaid<Fields extends object>(
  below: Fields,
  above: { readonly [Name in keyof Fields]?: Fields[Name] | undefined } = {},
): Fields {
  const given = Object.entries(above).filter(([, value]) => value !== undefined)
  return { ...below, ...(Object.fromEntries(given) as Partial<Fields>) }
}

/** For whoever asked for more than a grant has. */
export function grantExceeded(exceeded: readonly Exceeded[]): HearthError {
  const [first, ...others] = exceeded.map(({ field, asked, allowed }) => `${field}: ${asked} (allowed: ${allowed})`)
  const message = [first ?? 'it asks for more than the grant allows', ...others].join('; ')
  return new HearthError('grant_exceeded', message.slice(0, 4000), { context: { exceeded } })
}
