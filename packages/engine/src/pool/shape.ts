import { statSync } from 'node:fs'
import type { Driver } from '../drivers/driver.ts'
import type { Prepared } from '../sandbox/launcher.ts'
import type { Template } from '../templates/template.ts'

/** What a machine is made with, and what therefore must be the same for whoever claims it. The rest is told to it then. */
export interface Shape {
  readonly key: string
  /** The sandbox that was first asked for in this shape. */
  readonly prepared: Prepared
  readonly launch: NonNullable<Driver['launchUnclaimed']>
}

/** Null when no machine can wait for such a sandbox. */
export function shapeOf(prepared: Prepared): Shape | null {
  const { driver, template, limits, from, volumes } = prepared
  const launch = driver.launchUnclaimed
  const root = rootIdentity(template)
  if (from !== null || launch === undefined || root === null || volumes.length > 0) return null
  const { cpus, memoryBytes, pids, diskBytes } = limits
  const key = JSON.stringify([driver.name, template.name, template.digest, root, cpus, memoryBytes, pids, diskBytes])
  return { key, prepared, launch }
}

/** What machines of this shape lie on is not there any more, or is another. */
export function isOutdated({ key, prepared }: Shape): boolean {
  return shapeOf(prepared)?.key !== key
}

/** The root of a template that was removed and made again is another one, also with the same digest. Null when there is none. */
function rootIdentity(template: Template): string | null {
  if (template.kind === 'host') return 'host'
  const found = statSync(template.root, { throwIfNoEntry: false })
  return found === undefined ? null : `${found.dev}:${found.ino}:${found.birthtimeMs}`
}
