export { Dialer, type Resolve } from './dialer.ts'
export { mayDial } from './may-dial.ts'
