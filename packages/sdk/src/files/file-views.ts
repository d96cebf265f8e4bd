import type { FileInfo, FileView } from '@hearth/contract'

export function fileInfo(view: FileView): FileInfo {
  return { ...view, modifiedAt: new Date(view.modifiedAt) }
}
