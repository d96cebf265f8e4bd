import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../testing/free-port.ts'

export interface Blob {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Debian's docker-registry on a loopback port, with a directory of its own. */
export class LocalRegistry implements AsyncDisposable {
  readonly host: string
  /** Where its images are. */
  readonly data: string
  readonly #stop: () => Promise<void>

  private constructor(host: string, data: string, stop: () => Promise<void>) {
    this.host = host
    this.data = data
    this.#stop = stop
  }

  /** With the images of another one, and with what it demands of clients, as its configuration says it. */
  static async start(options: { readonly data?: string; readonly auth?: object } = {}): Promise<LocalRegistry> {
    const directory = mkdtempSync(join(tmpdir(), 'hearth-registry-'))
    const host = `127.0.0.1:${await freePort()}`
    const { data = join(directory, 'data'), auth } = options
    const storage = { filesystem: { rootdirectory: data } }
    // JSON is YAML too.
    writeFileSync(
      join(directory, 'config.yml'),
      JSON.stringify({ version: '0.1', log: { level: 'error' }, storage, http: { addr: host, secret: 'test' }, auth }),
    )
    const child = spawn('docker-registry', ['serve', join(directory, 'config.yml')], { stdio: 'ignore' })
    const registry = new LocalRegistry(host, data, async () => {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    })
    for (let attempt = 0; attempt < 200; attempt++) {
      const answered = await fetch(`http://${host}/v2/`).then(
        ({ status }) => status === (auth === undefined ? 200 : 401),
        () => false,
      )
      if (answered) return registry
      await sleep(50)
    }
    await registry[Symbol.asyncDispose]()
    throw new Error('docker-registry does not answer')
  }

  async pushBlob(repository: string, bytes: Uint8Array, mediaType: string): Promise<Blob> {
    const digest = digestOf(bytes)
    const started = await fetch(`http://${this.host}/v2/${repository}/blobs/uploads/`, { method: 'POST' })
    const location = new URL(started.headers.get('location') ?? '', `http://${this.host}`)
    location.searchParams.set('digest', digest)
    const put = await fetch(location, { method: 'PUT', body: bytes as Uint8Array<ArrayBuffer> })
    if (put.status !== 201) throw new Error(`the registry did not take a blob: ${put.status} ${await put.text()}`)
    return { mediaType, digest, size: bytes.length }
  }

  async pushManifest(
    repository: string,
    name: string,
    manifest: { readonly mediaType: string } & Record<string, unknown>,
  ): Promise<Blob> {
    const body = JSON.stringify(manifest)
    const headers = { 'content-type': manifest.mediaType }
    const put = await fetch(`http://${this.host}/v2/${repository}/manifests/${name}`, { method: 'PUT', body, headers })
    if (put.status !== 201) throw new Error(`the registry did not take a manifest: ${put.status} ${await put.text()}`)
    return { mediaType: manifest.mediaType, digest: digestOf(Buffer.from(body)), size: Buffer.byteLength(body) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop()
  }
}
