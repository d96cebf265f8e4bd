import { HearthError } from '@hearth/contract'

/** An integer from a caller, within bounds. */
export function checkedInteger(value: number, least: number, most: number, what: string): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new HearthError('invalid_request', `${what}: must be an integer from ${least} to ${most}`, {
    context: { field: what },
  })
}
