import type { Machine } from '../machine/machine.ts'

const FILE = '/etc/.hearth-rehearsal'

/**
 * What an emulated kernel does for the first time takes it a tenth of a second, such as to write where the guest writes what a network needs.
 * A machine that waits does it before somebody claims it.
 */
export async function rehearse(machine: Machine): Promise<void> {
  try {
    await machine.files.write(FILE, '')
    await machine.files.remove(FILE)
  } catch (error) {
    await machine.kill()
    throw error
  }
}
