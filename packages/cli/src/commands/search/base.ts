import { stat } from 'node:fs/promises'
import { Leases } from '@hearth/agent'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { CopyProgress } from '../../copy/copy-progress.ts'
import { onLocal } from '../../copy/local-failure.ts'
import { packDirectory } from '../../copy/pack.ts'
import { sandboxFields, type SandboxOptions } from '../../options/sandbox-options.ts'

export interface BaseOptions extends SandboxOptions {
  readonly repo?: string
  readonly from?: string
  readonly prepare?: string
  readonly json?: boolean
  readonly quiet?: boolean
}

export const WORKDIR = '/workspace'
const COMMAND_MS = 30 * 60_000
const SAID_CHARACTERS = 4000

/** A machine that is ready: with a copy of the directory in it, and prepared. It ends with the work. */
export async function withBase<Result>(
  options: BaseOptions,
  signal: AbortSignal,
  work: (base: Sandbox, workdir: string) => Promise<Result>,
): Promise<Result> {
  const { from, workdir = WORKDIR, ...rest } = options
  const repo = options.repo ?? (from === undefined ? '.' : null)
  if (repo !== null && !(await onLocal(repo, async () => await stat(repo))).isDirectory()) {
    throw new HearthError('not_a_directory', `${repo} is not a directory`)
  }
  await using hearth = new Hearth({ spareKeepers: 0 })
  const spec = { ...sandboxFields(rest, options.timeout ?? COMMAND_MS), ttlMs: BOUNDS.searchLeaseMs }
  await using base = await hearth.create({ ...spec, ...(from === undefined ? {} : { from }) }, { signal })
  using leases = new Leases(BOUNDS.searchLeaseMs)
  leases.hold(base)
  await base.files.makeDirectory(workdir, { parents: true })
  if (repo !== null) await copyInto(base, workdir, repo, options, signal)
  if (options.prepare !== undefined) await prepare(base, workdir, options.prepare, signal)
  return await work(base, workdir)
}

async function copyInto(
  base: Sandbox,
  workdir: string,
  repo: string,
  { json, quiet }: BaseOptions,
  signal: AbortSignal,
): Promise<void> {
  using progress = new CopyProgress(quiet === true || json === true)
  await base.files.extract(workdir, packDirectory(repo, progress), { signal })
}

/** What is set up once is there in every fork. */
async function prepare(base: Sandbox, workdir: string, command: string, signal: AbortSignal): Promise<void> {
  const { exitCode, timedOut, output } = await base.exec(command, { cwd: workdir, signal })
  if (exitCode === 0 && !timedOut) return
  const how = timedOut ? 'took too long' : `ended with ${exitCode}`
  throw new HearthError('invalid_request', `--prepare ${how}: ${output.slice(-SAID_CHARACTERS).trim()}`)
}
