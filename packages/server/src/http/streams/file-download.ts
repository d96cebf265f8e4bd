import type { Sandbox } from '@hearth/contract'
import { parseRange } from '../bodies/range.ts'
import { INERT_HEADERS, type Download } from './send-bytes.ts'

/** A file of a sandbox, or a range of it, as an answer. */
export async function fileDownload(
  sandbox: Sandbox,
  path: string,
  asked: { readonly range: string | undefined; readonly condition: string | string[] | undefined },
): Promise<Download> {
  const { size, type, modifiedAt } = await sandbox.files.stat(path)
  // Those of /proc have content but no size, and what is not a file is refused by reading it.
  const sized = type === 'file' && size > 0
  const etag = `"${size.toString(36)}-${modifiedAt.getTime().toString(36)}"`
  const { range: header, condition } = asked
  const range = sized && (condition === undefined || condition === etag) ? parseRange(header, size) : null
  return {
    status: range === null ? 200 : 206,
    length: sized ? (range?.length ?? size) : null,
    headers: {
      ...INERT_HEADERS,
      'content-type': 'application/octet-stream',
      'last-modified': modifiedAt.toUTCString(),
      ...(sized ? { 'accept-ranges': 'bytes', etag } : {}),
      ...(range === null ? {} : { 'content-range': `bytes ${range.first}-${range.first + range.length - 1}/${size}` }),
    },
    content: (signal) =>
      sandbox.files.readStream(path, {
        signal,
        ...(sized ? { offset: range?.first ?? 0, length: range?.length ?? size } : {}),
      }),
  }
}
