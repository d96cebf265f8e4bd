import { HearthError } from '@hearth/contract'
import type { Machine } from '../../machine/machine.ts'
import type { Driver, LaunchRequest, Probe } from '../driver.ts'

export interface SimulatedOptions {
  /**
   * Adds `python3` (CPython) and `js-exec` (QuickJS), both as WebAssembly in worker threads of this process. Off by default:
   * their memory is not bounded by the limits of the sandbox, and one script can take a gigabyte of the host's process.
   */
  readonly interpreters?: boolean
}

/** Rung 0: a shell and its commands, interpreted in this process over files in memory. No system call is made for a guest. */
export class SimulatedDriver implements Driver {
  readonly rung = 'simulated'
  readonly name = 'just-bash'
  readonly #interpreters: boolean

  constructor(options: SimulatedOptions = {}) {
    this.#interpreters = options.interpreters === true
  }

  async probe(): Promise<Probe> {
    return {
      available: true,
      label: 'just-bash 3.4.2',
      capabilities: {
        processes: false,
        terminals: false,
        users: false,
        ports: false,
        reconnect: false,
        pause: false,
        snapshots: true,
        memory: false,
        volumes: true,
        narrowing: true,
        processRecord: false,
        hostTemplate: true,
        limits: {
          cpus: 'none',
          memoryBytes: 'approximate',
          pids: 'none',
          diskBytes: 'enforced',
          openFiles: 'approximate',
        },
      },
      // A computer without programs is not what somebody expects who names no rung.
      automatic: false,
      notes: [
        'Only the built-in commands of the shell exist; there are no native programs.',
        'A command with piped standard input starts when its input has ended.',
        this.#interpreters
          ? 'python3 and js-exec run as WebAssembly; their memory is not limited.'
          : 'There is no python3 and no node.',
      ],
    }
  }

  async launch(request: LaunchRequest): Promise<Machine> {
    // The shell is a large program; only who uses it pays for loading it.
    const { launchSimulated } = await import('./launch-simulated.ts')
    return await launchSimulated(request, this.#interpreters)
  }

  async adopt(id: string): Promise<Machine> {
    throw new HearthError('sandbox_ended', `${id} ended with the process that it lived in`, { context: { id } })
  }
}
