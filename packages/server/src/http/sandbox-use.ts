import { HearthError, sandboxIdSchema, type Sandbox, type SandboxId } from '@hearth/contract'
import type { Caller, SandboxUse } from '../control-plane.ts'
import type { AppContext, Services } from './app-env.ts'

/** An identifier that cannot be one is the same as one of nobody's. */
export function sandboxId(context: AppContext): SandboxId {
  return knownForm(context.req.param('id') ?? '')
}

function knownForm(id: string): SandboxId {
  const parsed = sandboxIdSchema.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HearthError('sandbox_not_found', 'there is no such sandbox')
}

export async function useSandbox(services: Services, caller: Caller, id: string): Promise<SandboxUse> {
  return await services.controlPlane.use(caller, knownForm(id))
}

/** Runs a call inside a sandbox of the caller, which stays awake for as long as the call lasts. */
export async function withSandbox<T>(
  services: Services,
  context: AppContext,
  work: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  using use = await useSandbox(services, context.get('caller'), sandboxId(context))
  return await work(use.sandbox)
}
