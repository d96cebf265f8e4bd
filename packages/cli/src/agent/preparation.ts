import { HearthError, type Sandbox } from '@hearth/contract'

const SAID_CHARACTERS = 4000

/** What is set up once, before the work, is no part of any change. */
export async function runPreparation(
  sandbox: Sandbox,
  workdir: string,
  command: string,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, timedOut, output } = await sandbox.exec(command, { cwd: workdir, signal })
  if (exitCode === 0 && !timedOut) return
  const how = timedOut ? 'took too long' : `ended with ${exitCode}`
  throw new HearthError('invalid_request', `--prepare ${how}: ${output.slice(-SAID_CHARACTERS).trim()}`)
}
