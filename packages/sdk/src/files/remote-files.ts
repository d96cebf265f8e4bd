import type { Content, FileInfo, Files, FileView, ReadOptions, WriteOptions } from '@hearth/contract'
import { checkedInteger, checkedPath, itemsOf } from '../checks.ts'
import { hasCode } from '../hearth-error.ts'
import type { CallOptions } from '../transport/http-client.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { concatenate, decodeText } from '../streams/bytes.ts'
import { download } from './download.ts'
import { fileInfo } from './file-views.ts'
import { upload } from './upload.ts'

const HIGHEST_MODE = 0o7777

/** Files of a remote sandbox: the contract's calls, each of which can be given up. */
export class RemoteFiles implements Files {
  readonly #client: SandboxClient

  constructor(client: SandboxClient) {
    this.#client = client
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    for await (const chunk of this.readStream(path, options)) parts.push(chunk)
    return concatenate(parts)
  }

  async readText(path: string, options: ReadOptions = {}): Promise<string> {
    return decodeText(await this.read(path, options))
  }

  readStream(path: string, options: ReadOptions = {}): AsyncIterable<Uint8Array> {
    return download(this.#client, path, options)
  }

  async write(path: string, content: Content, options: WriteOptions = {}): Promise<FileInfo> {
    const { mode, user, parents, append, exclusive, signal } = options
    const query = { path: checkedPath(path), mode: octal(mode), user, parents, append, exclusive }
    const answer = await upload(
      this.#client,
      { method: 'PUT', path: '/files', query, signal, timeoutMs: null },
      content,
    )
    return fileInfo((await answer.json()) as FileView)
  }

  async stat(path: string, options: { readonly followSymlinks?: boolean } & CallOptions = {}): Promise<FileInfo> {
    const query = { path: checkedPath(path), follow: options.followSymlinks === false ? false : undefined }
    const { signal } = options
    return fileInfo(await this.#client.json<FileView>({ method: 'GET', path: '/files/stat', query, signal }))
  }

  async exists(path: string, options: CallOptions = {}): Promise<boolean> {
    try {
      await this.stat(path, options)
      return true
    } catch (error) {
      if (hasCode(error, 'file_not_found', 'not_a_directory')) return false
      throw error
    }
  }

  async list(path: string, options: { readonly depth?: number } & CallOptions = {}): Promise<FileInfo[]> {
    const { depth, signal } = options
    const query = { path: checkedPath(path), depth }
    return itemsOf<FileView>(await this.#client.json({ method: 'GET', path: '/files/list', query, signal })).map(
      fileInfo,
    )
  }

  async makeDirectory(
    path: string,
    options: { readonly parents?: boolean; readonly mode?: number; readonly user?: string } & CallOptions = {},
  ): Promise<void> {
    const { parents, mode, user, signal } = options
    await this.#post('/files/directory', { path, parents, mode, user }, signal)
  }

  async rename(from: string, to: string, options: CallOptions = {}): Promise<void> {
    await this.#post('/files/rename', { path: from, to }, options.signal)
  }

  async remove(
    path: string,
    options: { readonly recursive?: boolean; readonly force?: boolean } & CallOptions = {},
  ): Promise<void> {
    const { recursive, force, signal } = options
    const query = { path: checkedPath(path), recursive, force }
    await this.#client.done({ method: 'DELETE', path: '/files', query, signal })
  }

  async symlink(target: string, path: string, options: CallOptions = {}): Promise<void> {
    await this.#post('/files/symlink', { path, target }, options.signal)
  }

  async chmod(path: string, mode: number, options: CallOptions = {}): Promise<void> {
    await this.#post('/files/mode', { path, mode }, options.signal)
  }

  async *archive(path: string, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array, void> {
    const answer = await this.#client.send({
      method: 'GET',
      path: '/files/archive',
      query: { path: checkedPath(path) },
      headers: { accept: 'application/x-tar' },
      signal: options.signal,
    })
    yield* answer.chunks()
  }

  async extract(
    path: string,
    archive: Uint8Array | AsyncIterable<Uint8Array>,
    options: { readonly signal?: AbortSignal; readonly user?: string } = {},
  ): Promise<void> {
    const query = { path: checkedPath(path), user: options.user }
    const headers = { 'content-type': 'application/x-tar' }
    const { signal } = options
    const call = { method: 'PUT', path: '/files/archive', query, headers, signal, timeoutMs: null } as const
    const answer = await upload(this.#client, call, archive)
    await answer.bytes()
  }

  async #post(path: string, json: object, signal: AbortSignal | undefined): Promise<void> {
    await this.#client.done({ method: 'POST', path, json, signal })
  }
}

/** In a query a mode is octal, as people write it. */
function octal(mode: number | undefined): string | undefined {
  return mode === undefined ? undefined : checkedInteger(mode, 0, HIGHEST_MODE, 'mode').toString(8)
}
