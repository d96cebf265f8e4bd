import { HearthError, type Sandbox } from '@hearth/contract'

/** What was left running would go on changing what the difference is made of. */
export async function endProcesses(sandbox: Sandbox, processes: Iterable<number>): Promise<void> {
  for (const id of processes) {
    try {
      await using process = await sandbox.attach(id)
      await process.kill()
    } catch (error) {
      // It has ended already, or the sandbox has: either way it does not run.
      if (!HearthError.isInstance(error)) throw error
    }
  }
}
