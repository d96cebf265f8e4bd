/** How a limit is kept: by the kernel, by something that looks from time to time, or not at all. */
export type LimitEnforcement = 'enforced' | 'approximate' | 'none'

export type LimitName = 'cpus' | 'memoryBytes' | 'pids' | 'diskBytes' | 'openFiles'

/** What a driver declares about itself. The suite skips what is declared absent, and only that. */
export interface DriverCapabilities {
  readonly processes: boolean
  readonly terminals: boolean
  readonly users: boolean
  readonly ports: boolean
  readonly reconnect: boolean
  readonly limits: Readonly<Record<LimitName, LimitEnforcement>>
}

/** A capability without which a test has no meaning. */
export type Need = Exclude<keyof DriverCapabilities, 'limits'> | `limits.${LimitName}`

/** The first need that is not met, as a reason to skip; null when all are. */
export function missingNeed(capabilities: DriverCapabilities, needs: readonly Need[]): string | null {
  const missing = needs.find((need) => !isMet(capabilities, need))
  return missing === undefined ? null : `the driver declares no ${missing}`
}

function isMet(capabilities: DriverCapabilities, need: Need): boolean {
  switch (need) {
    case 'processes':
    case 'terminals':
    case 'users':
    case 'ports':
    case 'reconnect':
      return capabilities[need]
    default:
      return capabilities.limits[need.slice('limits.'.length) as LimitName] !== 'none'
  }
}
