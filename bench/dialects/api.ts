import type { Readable } from 'node:stream'
import type { Command } from '@hearth/contract'

/** One way to sandboxes of the same server. Identifiers are the native ones. */
export interface Api {
  readonly name: string
  create(): Promise<string>
  remove(id: string): Promise<void>
}

/** One that is measured against the native way. */
export interface DialectApi extends Api {
  /** What its exec runs, for the native API to run the same. */
  readonly command: Command
  exec(id: string): Promise<void>
  /** Null where files of any size are not part of it. */
  readonly files: FileCalls | null
}

export interface FileCalls {
  write(id: string, path: string, content: () => Readable): Promise<void>
  /** How many bytes came. */
  read(id: string, path: string): Promise<number>
}
