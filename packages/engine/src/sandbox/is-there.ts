import { readKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { readRecord, sleeps } from './sandbox-record.ts'

/** Whether the sandbox of that directory runs, sleeps, or is being made by somebody who lives. What a crash has left of one is not there. */
export async function isThere(directory: string): Promise<boolean> {
  const keeper = readKeeper(directory)
  if (keeper !== null && isAlive(keeper)) return true
  // A record that cannot be read was left by a crash while it was written.
  const record = await readRecord(directory).catch(() => null)
  if (record === null) return false
  return isAlive(record.owner) || (sleeps(record) && record.info.expiresAt.getTime() > Date.now())
}
