import type { CallOptions, CreateSandbox, Hearth } from '@hearth/sdk'
import { createSpecOf, type CreateOptions } from '../options/create-options.ts'
import { findSnapshot } from './find-snapshot.ts'
import { workspaceOf } from './find-workspace.ts'

/** What a sandbox is made of: the snapshot and the workspace that a person has named are looked for. */
export async function findCreateSpec(
  hearth: Hearth,
  options: CreateOptions,
  call: CallOptions,
): Promise<CreateSandbox> {
  const { from, workspace } = options
  return {
    ...createSpecOf(options),
    ...(from === undefined ? {} : { from: (await findSnapshot(hearth, from, call.signal)).id }),
    ...(workspace === undefined ? {} : { workspace: await workspaceOf(hearth, workspace, call) }),
  }
}
