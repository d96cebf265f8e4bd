import { HearthError, type Sandbox } from '@hearth/contract'

/** Stands in for a sandbox that has ended: a run that is taken up finds that out in the usual way, and ends with the reason. */
export function goneSandbox(id: string): Sandbox {
  const gone = (): Promise<never> => Promise.reject(new HearthError('sandbox_ended', `sandbox ${id} has ended`))
  const files = new Proxy({}, { get: () => gone })
  return new Proxy({}, { get: (_target, name) => (name === 'id' ? id : name === 'files' ? files : gone) }) as Sandbox
}
