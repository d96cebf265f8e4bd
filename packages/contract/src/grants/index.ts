export * from './attenuate.ts'
export { findExcess, isBelow, isSubset } from './compare.ts'
export * from './grant.ts'
export * from './sandbox-within.ts'
