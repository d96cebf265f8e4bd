// A reporter of vitest's: how many errors there were that no test had caught, which the JSON report does not say.
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export default class UnhandledErrors implements Reporter {
  onTestRunEnd(_: readonly TestModule[], unhandled: readonly unknown[]): void {
    const path = process.env['HEARTH_UNHANDLED_ERRORS']
    if (path !== undefined) writeFileSync(path, String(unhandled.length))
  }
}
