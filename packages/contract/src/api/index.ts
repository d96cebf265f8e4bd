export * from './process-wire.ts'
export * from './resource-wire.ts'
export * from './wire-types.ts'
