import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { SandboxId } from '@hearth/contract'
import type { Cgroups } from '../host/cgroups.ts'
import type { IdRanges } from '../host/id-ranges.ts'
import { encodeFrame } from '../link/encode-frame.ts'
import type { Link } from '../link/link.ts'
import type { Machine } from '../machine/machine.ts'
import type { ClaimRequest, UnclaimedMachine } from './driver.ts'
import { identify } from './greet-machine.ts'
import { movePlace, type MachinePlace } from './machine-place.ts'

/** A machine with a guest that is nobody's yet. */
export class ClaimableMachine implements UnclaimedMachine {
  readonly machine: Machine
  readonly #place: MachinePlace
  readonly #link: Link
  readonly #socket: Socket
  readonly #renames: 'guest' | 'keeper'
  readonly #services: { readonly cgroups: Cgroups; readonly ids: IdRanges }

  constructor(
    place: MachinePlace,
    link: Link,
    socket: Socket,
    machine: Machine,
    renames: 'guest' | 'keeper',
    services: { readonly cgroups: Cgroups; readonly ids: IdRanges },
  ) {
    this.#place = place
    this.#link = link
    this.#socket = socket
    this.machine = machine
    this.#renames = renames
    this.#services = services
    // A process that has nothing else to do may end, and it with that.
    socket.unref()
  }

  async identify(request: ClaimRequest): Promise<void> {
    this.#socket.ref()
    if (this.#renames === 'keeper') {
      writeFileSync(join(this.#place.directory, 'hostname'), request.hostname, { mode: 0o600 })
      this.#link.sink.push(encodeFrame('KeeperRename', {}))
    }
    await identify(this.#link, request)
  }

  moveTo(id: SandboxId, directory: string): void {
    movePlace(this.#place, { id, directory }, this.#services.ids)
  }

  async memoryBytes(): Promise<number | null> {
    return await this.#services.cgroups.memoryBytes(this.#place.resources.cgroup)
  }
}
