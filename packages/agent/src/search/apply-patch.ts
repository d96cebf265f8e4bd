import type { Sandbox } from '@hearth/contract'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { patchedTree, writeTree } from './patched-tree.ts'

/** Brings a working directory to what a patch makes of it, all of it. The patch is applied on the host: the sandbox needs no tool for it. */
export async function applyPatch(sandbox: Sandbox, workdir: string, patch: Uint8Array): Promise<void> {
  await using tracker = await ChangeTracker.open(null)
  const base = await tracker.begin(sandbox, workdir)
  await writeTree(await patchedTree(tracker.directory, base, patch, null), sandbox, workdir)
}
