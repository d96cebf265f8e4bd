export { Dialer, systemResolve } from './dialer.ts'
export type { Resolve } from './lookups.ts'
export { mayDial } from './may-dial.ts'
