import { isIP } from 'node:net'
import { HearthError, namePatternSchema, type Policy, type PolicyView } from '@hearth/contract'
import { z } from 'zod'
import { unsupported } from '../failures.ts'

const selectorsSchema = z.array(z.string().max(255)).max(1000)

export const networkSchema = z.object({
  allowOut: selectorsSchema.nullish(),
  denyOut: selectorsSchema.nullish(),
  rules: z.record(z.string(), z.unknown()).nullish(),
  egressProxy: z.unknown().optional(),
  allowPublicTraffic: z.boolean().nullish(),
  maskRequestHost: z
    .string()
    .max(255)
    .regex(/^[\x21-\x7e]+$/, 'must be what a Host header can hold')
    .nullish(),
  httpsPorts: z.array(z.int().min(1).max(65_535)).max(16).nullish(),
})

/** What can be changed later: where connections lead out. The rest is how its ports are reached, and stays. */
export const networkUpdateSchema = networkSchema
  .omit({ allowPublicTraffic: true, maskRequestHost: true, httpsPorts: true })
  .extend({ allow_internet_access: z.boolean().nullish() })

type Network = Pick<z.output<typeof networkSchema>, 'allowOut' | 'denyOut' | 'rules' | 'egressProxy'>

const EVERYTHING = '0.0.0.0/0'

/**
 * What a sandbox may reach: names that are allowed, or everything that is public; null when nothing is said about that. Hearth knows names
 * alone, so that addresses in a rule are refused.
 */
export function policyOf(network: Network | null, internet: boolean | null): Policy | null {
  if (network !== null) requireSupported(network)
  const allowed = network?.allowOut ?? []
  const denied = network?.denyOut ?? []
  const names = allowed.filter((selector) => selector !== EVERYTHING)
  for (const selector of [...names, ...denied.filter((entry) => entry !== EVERYTHING)]) requireName(selector)
  if (denied.some((selector) => selector !== EVERYTHING)) {
    throw new HearthError('invalid_request', 'network.denyOut: holds addresses alone')
  }
  const all = allowed.includes(EVERYTHING) || (internet === true && !denied.includes(EVERYTHING))
  if (all) return { mode: 'audit' }
  if (names.length === 0) return internet === null && denied.length === 0 ? null : {}
  if (!denied.includes(EVERYTHING) && internet !== false) {
    throw new HearthError('invalid_request', `network.allowOut: names need ${EVERYTHING} in network.denyOut`)
  }
  return { allow: names }
}

/** A policy in E2B's words. Rules with more than a name are shown as the name. */
export function networkOf({ mode, allow }: PolicyView['effective']): Record<string, readonly string[]> {
  if (mode === 'audit') return { allowOut: [EVERYTHING], denyOut: [] }
  return { allowOut: allow.map(({ name }) => name), denyOut: [EVERYTHING] }
}

function requireSupported(network: Network): void {
  if (Object.keys(network.rules ?? {}).length > 0) throw unsupported('network.rules (headers put into requests)')
  if ((network.egressProxy ?? null) !== null) throw unsupported('network.egressProxy')
}

function requireName(selector: string): void {
  if (isIP(selector.split('/')[0] ?? '') !== 0) throw unsupported('network rules with addresses; allow names instead')
  if (namePatternSchema.safeParse(selector).success) return
  throw new HearthError('invalid_request', `network: ${selector} is neither a host name nor an address`)
}
