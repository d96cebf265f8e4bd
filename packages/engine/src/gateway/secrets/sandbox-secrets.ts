import type { Secret } from '@hearth/contract'
import { newPlaceholder } from './placeholder.ts'
import { Scrubber } from './scrubber.ts'

export interface SandboxSecret extends Secret {
  readonly placeholder: string
}

/** The secrets that one sandbox may use, each behind a placeholder that is this sandbox's own. */
export class SandboxSecrets {
  readonly all: readonly SandboxSecret[]
  readonly scrubber: Scrubber

  constructor(secrets: readonly Secret[]) {
    this.all = secrets.map((secret) => ({ ...secret, placeholder: newPlaceholder(secret.value) }))
    this.scrubber = new Scrubber(this.all)
  }

  get empty(): boolean {
    return this.all.length === 0
  }
}
