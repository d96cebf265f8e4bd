export { LocalControlPlane, type LocalControlPlaneOptions } from './local-control-plane.ts'
export type { AdmissionLimits } from './admission.ts'
export type { HousekeepingOptions } from './housekeeping.ts'
export { STEPS, type Step } from './steps.ts'
