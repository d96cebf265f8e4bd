export { describeDriver } from './describe-driver.ts'
export type { DriverCapabilities, LimitEnforcement, LimitName, Need } from './support/capabilities.ts'
export type { DriverSuiteOptions, SuiteSkip, Survivor } from './support/suite.ts'
export { describeBareHost, describeSecurity, type SecuritySuiteOptions } from './security/describe-security.ts'
