import { HearthError, type CreateSandbox, type Sandbox, type VolumeView } from '@hearth/contract'
import type { Caller } from '../../../control-plane.ts'
import type { E2b } from '../e2b.ts'

/** The files of a volume, as they are in some sandbox. */
export interface VolumeFiles {
  readonly sandbox: Sandbox
  /** Where the volume is in it. */
  readonly root: string
}

interface Reaching {
  readonly id: string
  /** A sandbox may then get it for writing meanwhile. */
  readonly readOnly: boolean
  readonly signal: AbortSignal
}

const ROOT = '/volume'
/** Nobody waits longer for a file; what is left behind by a server that died goes then. */
const LIFE_MS = 3_600_000

/**
 * Reaches into volumes through a guest, never through the host's own file system. One that a sandbox has is reached there; any other is attached
 * to a sandbox that lives for this call alone, one call after the other.
 */
export class VolumeReach {
  readonly #turns = new Map<string, Promise<unknown>>()

  async with<T>(
    e2b: E2b,
    caller: Caller,
    { id, readOnly, signal }: Reaching,
    work: (files: VolumeFiles) => Promise<T>,
  ): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve()
    const turn = before.then(() => reach(e2b, caller, { id, readOnly, signal }, work))
    const settled = turn.catch(() => undefined)
    this.#turns.set(id, settled)
    void settled.then(() => {
      if (this.#turns.get(id) === settled) this.#turns.delete(id)
    })
    return await turn
  }

  /** When nothing of this dialect has it any more. */
  async idle(id: string): Promise<void> {
    await this.#turns.get(id)
  }
}

async function reach<T>(
  { services }: E2b,
  caller: Caller,
  { id, readOnly, signal }: Reaching,
  work: (files: VolumeFiles) => Promise<T>,
): Promise<T> {
  const plane = services.controlPlane
  signal.throwIfAborted()
  const volume = await plane.volumes.get(caller, id)
  const there = await placeOf(plane, caller, volume)
  if (there !== null) {
    using use = await plane.use(caller, there.sandbox)
    return await work({ sandbox: use.sandbox, root: there.path })
  }
  const request: CreateSandbox = {
    template: 'host',
    rung: 'process',
    user: 'root',
    ttlMs: LIFE_MS,
    volumes: [{ volume: volume.id, path: ROOT, readOnly }],
    metadata: { 'hearth.volume': volume.id },
  }
  const { id: made } = await plane.create(caller, request, { idempotencyKey: null, signal })
  try {
    using use = await plane.use(caller, made)
    return await work({ sandbox: use.sandbox, root: ROOT })
  } finally {
    await plane.delete(caller, made)
  }
}

/** The sandbox that has it for writing; null for none. */
async function placeOf(
  plane: E2b['services']['controlPlane'],
  caller: Caller,
  volume: VolumeView,
): Promise<{ readonly sandbox: string; readonly path: string } | null> {
  if (volume.sandbox === null) return null
  try {
    const { id, volumes } = await plane.get(caller, volume.sandbox)
    const mount = volumes.find((each) => each.volume === volume.id)
    return mount === undefined ? null : { sandbox: id, path: mount.path }
  } catch (error) {
    // It ends just now, and so does its hold on the volume.
    if (HearthError.isInstance(error) && error.code === 'sandbox_not_found') return null
    throw error
  }
}
