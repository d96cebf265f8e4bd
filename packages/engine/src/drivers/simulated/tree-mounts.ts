import { TreeError, type MountedDirectory, type TreeChange, type TreeNode } from './tree-node.ts'
import type { Location } from './tree-paths.ts'
import type { VolumeDirectory } from './volume-directory.ts'

/** What is found at the place of a volume. */
export function mountedDirectory(directory: VolumeDirectory): MountedDirectory {
  return {
    kind: 'directory',
    volume: directory,
    entries: directory,
    get id() {
      return directory.status().id
    },
    get mode() {
      return directory.status().mode
    },
    get modifiedMs() {
      return directory.status().modifiedMs
    },
  }
}

export function requireName(name: string, path: string): void {
  if (Buffer.byteLength(name) > 255) throw new TreeError('ENAMETOOLONG', 'open', path.slice(0, 80))
}

function requireFile({ node, name }: Location, path: string): void {
  if (node?.kind === 'directory' || name === '') throw new TreeError('EISDIR', 'open', path)
  if (node?.kind !== 'file') throw new TreeError('EINVAL', 'open', path)
}

/** The place at which a volume is shown. */
function isMounted({ node, parent }: Location): boolean {
  return node?.kind === 'directory' && node.volume !== null && parent.volume === null
}

/** What holds such a place cannot go, or be elsewhere. */
function holdsMount(node: TreeNode | undefined): boolean {
  if (node?.kind !== 'directory' || node.volume !== null) return false
  return [...node.entries.values()].some(
    (child) => child.kind === 'directory' && (child.volume !== null || holdsMount(child)),
  )
}

/** Where both lie in one volume; null when both lie in memory. */
export function sharedVolume(
  source: Location,
  target: Location,
  operation: string,
): { readonly from: VolumeDirectory; readonly to: VolumeDirectory } | null {
  const { volume: from } = source.parent
  const { volume: to } = target.parent
  if (from === null && to === null) return null
  if (from === null || to === null || from.volume !== to.volume) throw new TreeError('EXDEV', operation, source.path)
  return { from, to }
}

export function setMode({ node, parent, name }: Location, mode: number): void {
  if (node === undefined) return
  if (parent.volume !== null) parent.volume.setMode(name, mode)
  else if (node.kind === 'directory' && node.volume !== null) node.volume.setOwn({ mode })
  else node.mode = mode
}

export function setModified({ node, parent, name }: Location, modifiedMs: number): void {
  if (node === undefined) return
  if (parent.volume !== null) parent.volume.setModified(name, modifiedMs)
  else if (node.kind === 'directory' && node.volume !== null) node.volume.setOwn({ modifiedMs })
  else node.modifiedMs = modifiedMs
}

/** What a rename would break. */
export function requireMovable(
  source: Location & { readonly node: TreeNode },
  target: Location,
  { from, to }: { readonly from: string; readonly to: string },
): void {
  if (source.name === '' || `${target.path}/`.startsWith(`${source.path}/`))
    throw new TreeError('EINVAL', 'rename', from)
  if (target.node !== undefined) {
    const directories = [source.node.kind === 'directory', target.node.kind === 'directory']
    if (directories[1] === true && directories[0] !== true) throw new TreeError('EISDIR', 'rename', to)
    if (directories[0] === true && directories[1] !== true) throw new TreeError('ENOTDIR', 'rename', to)
    if (target.node.kind === 'directory' && target.node.entries.size > 0) throw new TreeError('ENOTEMPTY', 'rename', to)
  }
  if (isMounted(source) || holdsMount(source.node)) throw new TreeError('EBUSY', 'rename', from)
  if (target.node !== undefined && isMounted(target)) throw new TreeError('EBUSY', 'rename', to)
}

/** What a removal would lose, or break. */
export function requireRemovable(
  place: Location & { readonly node: TreeNode },
  path: string,
  recursive: boolean,
): void {
  const { node } = place
  if (node.kind === 'directory' && node.entries.size > 0 && !recursive) throw new TreeError('ENOTEMPTY', 'rm', path)
  if (isMounted(place) || holdsMount(node)) throw new TreeError('EBUSY', 'rm', path)
}

interface WriteToVolume {
  readonly mode?: number | undefined
  readonly append?: boolean
  readonly tell: (change: TreeChange) => void
}

export function writeToVolume(place: Location, volume: VolumeDirectory, bytes: Uint8Array, how: WriteToVolume): void {
  const { name, path, node } = place
  const mode = how.mode === undefined ? undefined : how.mode & 0o7777
  if (node === undefined) {
    requireName(name, path)
    volume.makeFile(name, mode ?? 0o644)
    how.tell({ kind: 'created', path, from: null })
  } else requireFile(place, path)
  if (how.append === true) volume.append(name, bytes)
  else volume.write(name, bytes, mode)
  how.tell({ kind: 'changed', path, from: null })
}
