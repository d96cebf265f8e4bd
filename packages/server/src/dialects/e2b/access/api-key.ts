import type { IncomingHttpHeaders } from 'node:http'
import { HearthError } from '@hearth/contract'
import { bearerToken } from '../../../http/access/key-cache.ts'

/**
 * The key of a call to the control plane. Older clients insist on `e2b_` and hexadecimal digits: the digits are then those of the
 * characters of a Hearth key.
 */
export function apiKey(headers: IncomingHttpHeaders): string {
  const given = headers['x-api-key']
  if (given === undefined) return headers.authorization === undefined ? missing() : bearerToken(headers.authorization)
  const [, digits] = /^e2b_((?:[0-9a-f]{2}){1,256})$/i.exec(String(given)) ?? []
  return digits === undefined ? String(given).slice(0, 256) : Buffer.from(digits, 'hex').toString('latin1')
}

function missing(): never {
  throw new HearthError('unauthorized', 'a key is needed in the header X-API-KEY')
}
