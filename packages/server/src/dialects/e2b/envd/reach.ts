import { HearthError } from '@hearth/contract'
import type { SandboxUse } from '../../../control-plane.ts'
import type { Operation } from '../../../http/operation.ts'
import type { SandboxAccess } from '../access/sandbox-access.ts'
import { endAfter, resumedMs } from '../control/sleeping.ts'
import { isPaused, RUNNING_STATES } from '../control/views.ts'
import type { E2b } from '../e2b.ts'
import { markOf } from '../mark.ts'

/** The sandbox, awake. One that is paused is woken only when it was made so; to everybody else it is not there. */
export async function reach(e2b: E2b, { caller, sandbox }: SandboxAccess, operation: Operation): Promise<SandboxUse> {
  operation.sandboxId = sandbox
  const plane = e2b.services.controlPlane
  const view = await plane.get(caller, sandbox)
  if (isPaused(view)) {
    const mark = markOf(view)
    if (mark?.autoResume !== true) throw notRunning()
    return await e2b.pauses.waking(sandbox, async () => {
      const use = await plane.use(caller, sandbox)
      const renewed = await endAfter(plane, caller, { ...view, state: 'running' }, resumedMs(view))
      e2b.pauses.watch(caller.tenantId, renewed)
      return use
    })
  }
  if (!RUNNING_STATES.includes(view.state)) throw notRunning()
  return await plane.use(caller, sandbox)
}

function notRunning(): HearthError {
  return new HearthError('sandbox_not_found', 'The sandbox was not found')
}
