/** What lies at a path. */
export type FileType = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'device'

/** A file, directory or other entry of a sandbox. */
export interface FileInfo {
  /** The absolute path inside the sandbox. */
  readonly path: string
  /** The last part of the path. */
  readonly name: string
  /** What it is. */
  readonly type: FileType
  /** Its size in bytes. */
  readonly size: number
  /** Permission bits, for example 0o644. */
  readonly mode: number
  /** The number of its owner inside the sandbox. */
  readonly uid: number
  /** The number of its group inside the sandbox. */
  readonly gid: number
  /** When its content was changed last. */
  readonly modifiedAt: Date
  /** Where a symlink points; null for everything else. */
  readonly target: string | null
}

/** A change that a watch tells of. */
export interface WatchEvent {
  /** `changed`: its content; `attributes`: its mode, owner or times alone. After `overflow` something was not told. */
  readonly kind: 'created' | 'changed' | 'attributes' | 'removed' | 'renamed' | 'overflow'
  /** The path that changed; for `renamed` the new one. */
  readonly path: string
  /** The old path for `renamed`; null for everything else. */
  readonly from: string | null
}

/** Which part of a file is read. */
export interface ReadOptions {
  /** First byte. Default 0. */
  readonly offset?: number
  /** Bytes at the most. Default: to the end. */
  readonly length?: number
  readonly signal?: AbortSignal
}

/** How a file is written. */
export interface WriteOptions {
  /** Permission bits. Default 0o644, or what the replaced file has. */
  readonly mode?: number
  /** The owner. Default: the user of the sandbox. */
  readonly user?: string
  /** Make missing parent directories. Default true. */
  readonly parents?: boolean
  /** Add to the end instead of replacing. Not atomic. Default false. */
  readonly append?: boolean
  /** Fail with `file_exists` when the file is there. Default false. */
  readonly exclusive?: boolean
  readonly signal?: AbortSignal
}

/** What is written to a file: text, bytes, or bytes as they come. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>

/** Files of a sandbox. Paths are absolute and are resolved inside the sandbox alone. */
export interface Files {
  /** The bytes of a file, or of a part of it. */
  read(path: string, options?: ReadOptions): Promise<Uint8Array>
  /** A file as text in UTF-8. */
  readText(path: string, options?: ReadOptions): Promise<string>
  /** The bytes of a file as they are asked for, whatever its size. */
  readStream(path: string, options?: ReadOptions): AsyncIterable<Uint8Array>
  /**
   * Replaces a file in one step: a reader sees the old or the new content, never a part.
   *
   * @example
   * await sandbox.files.write('/workspace/data.csv', 'a,b\n')
   */
  write(path: string, content: Content, options?: WriteOptions): Promise<FileInfo>
  /** What lies at a path. Follows symlinks unless told otherwise; `file_not_found` when there is nothing. */
  stat(path: string, options?: { readonly followSymlinks?: boolean }): Promise<FileInfo>
  /** Whether anything lies at a path. */
  exists(path: string): Promise<boolean>
  /** Entries of a directory, sorted by path. `depth` 1 (the default) is the directory itself alone. */
  list(path: string, options?: { readonly depth?: number }): Promise<FileInfo[]>
  /** Makes a directory, with `parents` also those above it. */
  makeDirectory(
    path: string,
    options?: { readonly parents?: boolean; readonly mode?: number; readonly user?: string },
  ): Promise<void>
  /** Moves a file or a directory; a file that lies there is replaced. */
  rename(from: string, to: string): Promise<void>
  /** Removes a file, or with `recursive` a directory and all that is in it. With `force` it may be missing. */
  remove(path: string, options?: { readonly recursive?: boolean; readonly force?: boolean }): Promise<void>
  /** Makes a symlink at `path` that points to `target`. */
  symlink(target: string, path: string): Promise<void>
  /** Changes the permission bits of a file. */
  chmod(path: string, mode: number): Promise<void>
  /** A directory or a file as a tar stream. */
  archive(path: string, options?: { readonly signal?: AbortSignal }): AsyncIterable<Uint8Array>
  /** Unpacks a tar stream below a directory; entries that would leave it are refused. */
  extract(
    path: string,
    archive: Uint8Array | AsyncIterable<Uint8Array>,
    options?: { readonly signal?: AbortSignal; readonly user?: string },
  ): Promise<void>
}
