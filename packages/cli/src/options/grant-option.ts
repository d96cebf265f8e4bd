import { readFileSync } from 'node:fs'
import { HearthError, type GrantRequest } from '@hearth/sdk'
import { localFailure } from '../copy/local-failure.ts'

/** A grant as it is given on the command line: JSON, or a file that holds it. Whether it can be given is the server's to say. */
export function grantOf(text: string, option: string): GrantRequest {
  let json = text
  try {
    if (!text.trimStart().startsWith('{')) json = readFileSync(text, 'utf8')
  } catch (error) {
    throw localFailure(error, text)
  }
  try {
    return JSON.parse(json) as GrantRequest
  } catch (error) {
    throw new HearthError('invalid_request', `${option}: this is no JSON`, { cause: error })
  }
}
