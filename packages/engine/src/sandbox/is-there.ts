import { readKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { findRecord, sleeps } from './sandbox-record.ts'

/** Whether the sandbox of that directory runs, sleeps, or is being made by somebody who lives. What a crash has left of one is not there. Throws when that cannot be told. */
export async function isThere(directory: string): Promise<boolean> {
  const keeper = readKeeper(directory)
  if (keeper !== null && isAlive(keeper)) return true
  const found = await findRecord(directory)
  if (found.kind === 'unknown') throw found.error
  if (found.kind !== 'record') return false
  const { record } = found
  return isAlive(record.owner) || (sleeps(record) && record.info.expiresAt.getTime() > Date.now())
}
