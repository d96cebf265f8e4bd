import { applyPatch } from '@hearth/agent'
import { HearthError, WORKSPACE_PATH, type Sandbox } from '@hearth/contract'
import type { CallOptions, CreateSandbox, Hearth, RemoteSandbox } from '@hearth/sdk'

/** A machine that only carries files: it runs nothing, and is gone when that is done. */
const CARRIER = { ttlMs: 30 * 60_000 } as const

/** What marks a run that works on a copy, for who goes on with it. */
export const COPY_MARK = 'workspace-copy'

export interface Place {
  readonly sandbox: RemoteSandbox
  /** The rung has no volumes: the files were copied, and what changes in them must be brought back. */
  readonly isCopy: boolean
}

/** A sandbox with the workspace, or with a copy of its files on a rung that cannot have it itself. */
export async function sandboxWith(
  hearth: Hearth,
  workspace: string,
  spec: CreateSandbox,
  call: CallOptions,
): Promise<Place> {
  try {
    return { sandbox: await hearth.create({ ...spec, workspace }, call), isCopy: false }
  } catch (error) {
    if (!HearthError.isInstance(error) || error.code !== 'capability_unsupported') throw error
  }
  await using undo = new AsyncDisposableStack()
  const sandbox = await hearth.create(spec, call)
  undo.defer(async () => await sandbox.kill())
  await using carrier = await hearth.create({ ...CARRIER, workspace }, call)
  await sandbox.files.makeDirectory(WORKSPACE_PATH, { parents: true })
  await sandbox.files.extract(WORKSPACE_PATH, carrier.files.archive(WORKSPACE_PATH), call)
  undo.move()
  return { sandbox, isCopy: true }
}

/** What brings the change of a copy into the workspace. */
export function bringingBack(hearth: Hearth, workspace: string): (patch: Uint8Array) => Promise<void> {
  return async (patch) => {
    await using carrier: Sandbox = await hearth.create({ ...CARRIER, workspace })
    await applyPatch(carrier, WORKSPACE_PATH, patch)
  }
}
