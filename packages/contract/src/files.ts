export type FileType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device'

export interface FileInfo {
  readonly path: string
  readonly name: string
  readonly type: FileType
  readonly size: number
  /** Permission bits, for example 0o644. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly modifiedAt: Date
  /** Where a symlink points. */
  readonly target: string | null
}

export interface WatchEvent {
  /** `changed`: its content; `attributes`: its mode, owner or times alone. After `overflow` something was not told. */
  readonly kind: 'created' | 'changed' | 'attributes' | 'removed' | 'renamed' | 'overflow'
  /** The path; for `renamed` the new one. */
  readonly path: string
  /** For `renamed`: the old path. */
  readonly from: string | null
}

export interface ReadOptions {
  /** First byte. Default 0. */
  readonly offset?: number
  /** Bytes at the most. Default: to the end. */
  readonly length?: number
  readonly signal?: AbortSignal
}

export interface WriteOptions {
  /** Default 0o644, or what the replaced file has. */
  readonly mode?: number
  /** Owner. Default: the user of the sandbox. */
  readonly user?: string
  /** Make missing parent directories. Default true. */
  readonly parents?: boolean
  /** Add to the end instead of replacing. Not atomic. Default false. */
  readonly append?: boolean
  /** Fail with `file_exists` when the file is there. Default false. */
  readonly exclusive?: boolean
  readonly signal?: AbortSignal
}

export type Content = string | Uint8Array | AsyncIterable<Uint8Array>

/** Files of a sandbox. Paths are absolute and are resolved inside the sandbox alone. */
export interface Files {
  read(path: string, options?: ReadOptions): Promise<Uint8Array>
  readText(path: string, options?: ReadOptions): Promise<string>
  readStream(path: string, options?: ReadOptions): AsyncIterable<Uint8Array>
  /** Replaces the file in one step: a reader sees the old or the new content, never a part. */
  write(path: string, content: Content, options?: WriteOptions): Promise<FileInfo>
  /** Follows symlinks unless told otherwise. */
  stat(path: string, options?: { readonly followSymlinks?: boolean }): Promise<FileInfo>
  exists(path: string): Promise<boolean>
  /** Entries of a directory, sorted by path. `depth` 1 (the default) is the directory itself alone. */
  list(path: string, options?: { readonly depth?: number }): Promise<FileInfo[]>
  makeDirectory(
    path: string,
    options?: { readonly parents?: boolean; readonly mode?: number; readonly user?: string },
  ): Promise<void>
  rename(from: string, to: string): Promise<void>
  remove(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  symlink(target: string, path: string): Promise<void>
  chmod(path: string, mode: number): Promise<void>
  /** The directory (or file) as a tar stream. */
  archive(path: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>
  /** Unpacks a tar stream below a directory; entries that would leave it are refused. */
  extract(
    path: string,
    archive: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly signal?: AbortSignal; readonly user?: string },
  ): Promise<void>
}
