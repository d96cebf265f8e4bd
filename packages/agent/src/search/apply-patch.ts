import type { Sandbox } from '@hearth/contract'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { writeFiles } from '../changes/written-files.ts'
import { patchedTree } from './patched-tree.ts'

/** Brings a working directory to what a patch makes of it, all of it. The patch is applied on the host: the sandbox needs no tool for it. */
export async function applyPatch(sandbox: Sandbox, workdir: string, patch: Uint8Array): Promise<void> {
  await using tracker = await ChangeTracker.open(null)
  const base = await tracker.begin(sandbox, workdir)
  const { written } = await patchedTree(tracker.directory, base, patch, null)
  await writeFiles(written, sandbox, workdir)
}
