import { stat } from 'node:fs/promises'
import { Leases } from '@hearth/agent'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import type { CreateSandbox, Hearth as RemoteHearth } from '@hearth/sdk'
import { sandboxWith } from '../../agent/carried-files.ts'
import { runPreparation } from '../../agent/preparation.ts'
import { CopyProgress } from '../../copy/copy-progress.ts'
import { onLocal } from '../../copy/local-failure.ts'
import { packDirectory } from '../../copy/pack.ts'
import { secretUse } from '../../options/create-options.ts'
import { sandboxFields, withoutUndefined, type SandboxOptions } from '../../options/sandbox-options.ts'
import { hasServer } from '../../server/has-server.ts'
import { withServer, type ServerOptions } from '../../server/with-server.ts'

export interface BaseOptions extends SandboxOptions, ServerOptions {
  readonly repo?: string
  readonly from?: string
  readonly prepare?: string
  /** Names of secrets, each perhaps with a variable. */
  readonly secret?: readonly string[]
  /** Told when that is begun. */
  readonly preparing?: (command: string) => void
}

export const WORKDIR = '/workspace'
const COMMAND_MS = 30 * 60_000

/** `hearth`: the server that has the machine; null when it is of this process. */
export type BaseWork<Result> = (base: Sandbox, workdir: string, hearth: RemoteHearth | null) => Promise<Result>

/**
 * A machine that is ready: with a copy of the directory in it, and prepared; of a snapshot of the server where one is named. It ends with
 * the work, and is the server's where there is one.
 */
export async function withBase<Result>(
  options: BaseOptions,
  signal: AbortSignal,
  work: BaseWork<Result>,
): Promise<Result> {
  const { from, repo } = options
  const directory = repo ?? (from === undefined ? '.' : null)
  if (directory !== null && !(await onLocal(directory, async () => await stat(directory))).isDirectory()) {
    throw new HearthError('not_a_directory', `${directory} is not a directory`)
  }
  const spec = specOf(options)
  if (from !== undefined || options.secret !== undefined || hasServer(options)) {
    return await withServer(options, async (hearth) => {
      await using base = await hearth.create(
        { ...spec, ...secretsOf(options), ...withoutUndefined({ from }) },
        { signal },
      )
      return await whenReady({ base, hearth }, directory, options, signal, work)
    })
  }
  await using hearth = new Hearth({ spareKeepers: 0 })
  await using base = await hearth.create(spec, { signal })
  return await whenReady({ base, hearth: null }, directory, options, signal, work)
}

/** One that has a workspace of the server, or a copy of it. */
export async function withCheckout<Result>(
  hearth: RemoteHearth,
  workspace: string,
  options: BaseOptions,
  signal: AbortSignal,
  work: BaseWork<Result>,
): Promise<Result> {
  if (options.from !== undefined)
    throw new HearthError('invalid_request', 'a workspace is what it begins with: --from would be another')
  await using base = (await sandboxWith(hearth, workspace, { ...specOf(options), ...secretsOf(options) }, { signal }))
    .sandbox
  return await whenReady({ base, hearth }, null, options, signal, work)
}

function secretsOf({ secret }: BaseOptions): Pick<CreateSandbox, 'secrets'> {
  return secret === undefined ? {} : { secrets: secret.map(secretUse) }
}

function specOf({ workdir: _inside, ...options }: BaseOptions) {
  return { ...sandboxFields(options, options.timeout ?? COMMAND_MS), ttlMs: BOUNDS.searchLeaseMs }
}

async function whenReady<Result>(
  { base, hearth }: { readonly base: Sandbox; readonly hearth: RemoteHearth | null },
  directory: string | null,
  options: BaseOptions,
  signal: AbortSignal,
  work: BaseWork<Result>,
): Promise<Result> {
  const { workdir = WORKDIR } = options
  using leases = new Leases(BOUNDS.searchLeaseMs)
  leases.hold(base)
  await base.files.makeDirectory(workdir, { parents: true })
  if (directory !== null) await copyInto(base, workdir, directory, options, signal)
  if (options.prepare !== undefined) {
    options.preparing?.(options.prepare)
    await runPreparation(base, workdir, options.prepare, signal)
  }
  return await work(base, workdir, hearth)
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
