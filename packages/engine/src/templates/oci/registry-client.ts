import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type RegistryCredentials } from '@hearth/contract'
import { imageInvalid, registryFailed } from './image-error.ts'
import { IMAGE_LIMITS } from './image-limits.ts'
import { type ImageReference, registryUrl } from './image-reference.ts'
import { type Descriptor, MEDIA_TYPES } from './image-schemas.ts'
import { answerChallenge } from './registry-auth.ts'
import { collect, verified } from './verified-stream.ts'

const ACCEPT = [...MEDIA_TYPES.indexes, ...MEDIA_TYPES.manifests].join(', ')

/** Reads one repository of a registry. Everything that it returns was compared with its digest. */
export class RegistryClient {
  readonly #reference: ImageReference
  readonly #given: RegistryCredentials | null
  readonly #signal: AbortSignal
  #authorization: string | null = null

  /** `given`: what it is shown when it asks. Null for what `docker login` has stored. */
  constructor(reference: ImageReference, given: RegistryCredentials | null, signal: AbortSignal) {
    this.#reference = reference
    this.#given = given
    this.#signal = signal
  }

  /** A manifest or an index by its tag or its digest. */
  async manifest(
    expected: { readonly tag: string } | { readonly digest: string },
  ): Promise<{ digest: string; bytes: Buffer }> {
    const name = 'tag' in expected ? expected.tag : expected.digest
    return await this.#retry(async () => {
      const response = await this.#get(`/manifests/${name}`, { accept: ACCEPT })
      const stated = response.headers.get('docker-content-digest')
      const bytes = await collect(this.#body(response, IMAGE_LIMITS.manifestBytes))
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
      const wanted = 'digest' in expected ? expected.digest : stated?.startsWith('sha256:') === true ? stated : digest
      if (digest !== wanted)
        throw imageInvalid('the manifest does not have its digest', { expected: wanted, actual: digest })
      return { digest, bytes }
    })
  }

  /** A small blob, whole. */
  async blob(descriptor: Descriptor, maximumBytes: number, what: string): Promise<Buffer> {
    return await this.#retry(async () => await collect(await this.#open(descriptor, maximumBytes, what)))
  }

  /** Gives a blob to a consumer that starts anew on each attempt. */
  async stream(
    descriptor: Descriptor,
    what: string,
    consume: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<void> {
    await this.#retry(async () => await consume(await this.#open(descriptor, IMAGE_LIMITS.compressedLayerBytes, what)))
  }

  async #open({ digest, size }: Descriptor, maximumBytes: number, what: string): Promise<AsyncIterable<Uint8Array>> {
    const response = await this.#get(`/blobs/${digest}`, {})
    return verified(this.#body(response, size), { digest, size, maximumBytes, what })
  }

  async #get(path: string, headers: Record<string, string>): Promise<Response> {
    const url = `${registryUrl(this.#reference)}${path}`
    let response = await this.#fetch(url, headers)
    const challenge = response.status === 401 ? response.headers.get('www-authenticate') : null
    if (challenge !== null) {
      await response.body?.cancel()
      this.#authorization = await answerChallenge(challenge, {
        registry: this.#reference.registry,
        given: this.#given,
        signal: this.#signal,
      })
      response = await this.#fetch(url, headers)
    }
    if (response.ok) return response
    await response.body?.cancel()
    throw refusal(response.status, path, this.#reference)
  }

  async #fetch(url: string, headers: Record<string, string>): Promise<Response> {
    const authorization = this.#authorization === null ? {} : { authorization: this.#authorization }
    return await fetch(url, { signal: this.#signal, headers: { ...headers, ...authorization } })
  }

  /** The bytes of an answer, bounded, and given up when none comes for too long. */
  async *#body(response: Response, maximumBytes: number): AsyncGenerator<Uint8Array, void> {
    if (response.body === null) return
    const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    let bytes = 0
    try {
      for (;;) {
        const { done, value } = await withinTime(reader.read())
        if (done) return
        bytes += value.length
        if (bytes > maximumBytes) throw imageInvalid(`an answer of the registry is larger than ${maximumBytes} bytes`)
        yield value
      }
    } finally {
      await reader.cancel().catch(() => undefined)
    }
  }

  /** A broken connection and a busy registry are tried again; a wrong digest or a refusal is not. */
  async #retry<Value>(attempt: () => Promise<Value>): Promise<Value> {
    for (let count = 1; ; count++) {
      try {
        return await attempt()
      } catch (error) {
        this.#signal.throwIfAborted()
        const isFinal = HearthError.isInstance(error) && error.context['transient'] !== true
        if (isFinal) throw error
        if (count >= IMAGE_LIMITS.attempts) throw this.#lost(error)
        await sleep(200 * 2 ** count, undefined, { signal: this.#signal })
      }
    }
  }

  #lost(error: unknown): unknown {
    if (HearthError.isInstance(error)) return error
    const { registry, repository } = this.#reference
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const reason = cause instanceof Error ? cause.message : String(cause)
    return registryFailed(`${registry} does not answer: ${reason}`, { registry, repository }, error)
  }
}

function refusal(status: number, path: string, { registry, repository }: ImageReference): HearthError {
  const context = { registry, repository, path, status, transient: status === 429 || status >= 500 }
  if (status === 404) {
    return new HearthError('template_not_found', `${registry} has no ${repository}${path}`, { context })
  }
  return registryFailed(`${registry} refuses ${repository}${path} with status ${status}`, context)
}

async function withinTime<Value>(promise: Promise<Value>): Promise<Value> {
  const stalled = Promise.withResolvers<never>()
  const timer = setTimeout(() => stalled.reject(new Error('the registry has stalled')), IMAGE_LIMITS.stallMs)
  try {
    return await Promise.race([promise, stalled.promise])
  } finally {
    clearTimeout(timer)
  }
}
