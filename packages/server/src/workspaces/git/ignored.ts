import { rm } from 'node:fs/promises'
import { BOUNDS } from '@hearth/contract'
import type { StillCopy, VolumeChange } from '@hearth/engine'
import { git, IgnoreRules } from '@hearth/engine/git'
import { readStillFile } from './still-files.ts'

type Changed = VolumeChange & { readonly tree: string }

/** Those of the files that no commit has and that `.gitignore` names, as the checkout has these rules now. */
export async function ignoredOf(
  directory: string,
  base: string,
  still: StillCopy,
  files: readonly Changed[],
  options: { readonly scratch: string; readonly signal?: AbortSignal },
): Promise<ReadonlySet<string>> {
  const added = files.filter(({ change }) => change === 'added').map(({ tree }) => tree)
  if (added.length === 0) return new Set()
  try {
    const rules = new IgnoreRules(directory, options.scratch)
    await rules.keep(await rulesOf(directory, base, still, files, options.signal))
    return await rules.ignored(added)
  } finally {
    await rm(options.scratch, { recursive: true, force: true })
  }
}

/** Only what is a file of a bounded size counts: a link could lead anywhere. */
async function rulesOf(
  directory: string,
  base: string,
  still: StillCopy,
  files: readonly Changed[],
  signal: AbortSignal | undefined,
): Promise<Map<string, Uint8Array>> {
  const call = { directory, ...(signal === undefined ? {} : { signal }) }
  const listed = await git(['ls-tree', '-r', '-z', '--format=%(objectmode) %(path)', base], call)
  const ofBase = listed.toString().split('\0').flatMap(ruleFile)
  const now = files.filter(({ tree, type }) => type === 'file' && isRuleFile(tree)).map(({ tree }) => tree)
  const rules = new Map<string, Uint8Array>()
  for (const path of new Set([...ofBase, ...now].slice(0, BOUNDS.workspaceIgnoreFiles))) {
    const content = await readStillFile(still, path, BOUNDS.workspaceIgnoreBytes).catch(unreadable)
    if (content !== null) rules.set(path, content)
  }
  return rules
}

function ruleFile(line: string): string[] {
  const path = line.slice('100644 '.length)
  return line.startsWith('100') && isRuleFile(path) ? [path] : []
}

function isRuleFile(path: string): boolean {
  return path === '.gitignore' || path.endsWith('/.gitignore')
}

/** It was removed, or became something else. */
function unreadable(error: NodeJS.ErrnoException): null {
  if (['ENOENT', 'ELOOP', 'EISDIR', 'ENOTDIR', 'ENXIO'].includes(error.code ?? '')) return null
  throw error
}
