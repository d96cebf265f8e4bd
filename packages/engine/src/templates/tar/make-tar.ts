import type { TarHeader } from './tar-header.ts'
import { TAR_END, tarHeader, tarPadding } from './tar-writer.ts'

/** An entry with everything that matters little left out. */
export type TarInput = Pick<TarHeader, 'path'> &
  Partial<Omit<TarHeader, 'path' | 'size'>> & { readonly content?: string | Uint8Array }

/** A whole archive in memory, for archives whose content is at hand. */
export function makeTar(entries: readonly TarInput[]): Buffer {
  const parts = entries.flatMap(({ content = '', ...entry }) => {
    const bytes = Buffer.from(content)
    const defaults = { type: 'file', target: '', mode: 0o644, uid: 0, gid: 0, modifiedMs: 1_700_000_000_000 } as const
    return [tarHeader({ ...defaults, ...entry, size: bytes.length }), bytes, tarPadding(bytes.length)]
  })
  return Buffer.concat([...parts, TAR_END])
}
