import { exec } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeSuite, type DriverSuiteOptions, type Suite } from '../support/suite.ts'
import { runInside, runOnHost, type Attempt } from './attempt.ts'
import { ATTEMPTS } from './attempts/index.ts'
import { describeFileCalls } from './file-calls.ts'
import { hostState } from './host-state.ts'
import { describeHostView } from './host-view.ts'
import { SHELL_ATTEMPTS } from './shell-attempts.ts'
import { Stage } from './stage.ts'

export interface SecuritySuiteOptions extends DriverSuiteOptions {
  /** Whether what runs inside calls the kernel of the host. */
  readonly sharesKernel: boolean
}

/** Shows that each attempt works when there is no sandbox, so that none passes because its script is wrong. */
export function describeBareHost(): void {
  describe('the bare host', () => {
    const stage = useStage()
    for (const [group, attempts] of Object.entries(ATTEMPTS)) {
      describe(group, () => {
        for (const attempt of attempts) control(attempt, stage)
      })
    }
    for (const attempt of SHELL_ATTEMPTS) {
      test(attempt.name, async () => {
        stage().reset()
        const text = await shellOnHost(attempt.script(stage()))
        expect(attempt.happened?.(stage()) ?? text.includes(stage().secret), text).toBe(true)
        stage().reset()
      })
    }
  })
}

function control(attempt: Attempt, stage: () => Stage): void {
  test(attempt.name, async (context) => {
    const obstacle = attempt.controlObstacle?.(stage()) ?? null
    if (obstacle !== null) context.skip(obstacle)
    stage().reset()
    const verdict = await runOnHost(attempt, stage())
    if (/\[Errno 38\]/.test(verdict.detail)) context.skip('the kernel of this host does not have this call')
    expect(verdict.reached, verdict.detail).toBe(true)
    stage().reset()
  })
}

/** The same attempts inside. */
export function describeSecurity(options: SecuritySuiteOptions): void {
  describe('security', () => {
    const stage = useStage()
    const groups = Object.entries(ATTEMPTS).map(
      ([group, attempts]) => [group, attemptsInside(group, attempts, stage, options)] as const,
    )
    describeSuite(options, {
      ...Object.fromEntries(groups),
      'by the shell': (suite) => shellInside(suite, stage),
      'file calls': (suite) => describeFileCalls(suite, stage),
      'seen from the host': (suite) => describeHostView(suite, options),
    })
  })
}

function attemptsInside(
  group: string,
  attempts: readonly Attempt[],
  stage: () => Stage,
  options: SecuritySuiteOptions,
): (suite: Suite) => void {
  return (suite) => {
    const ofHost = attempts.filter((attempt) => attempt.aim === 'host' || options.sharesKernel)
    for (const attempt of ofHost) {
      suite.test(attempt.name, { needs: ['processes'] }, async (sandbox) => {
        const verdict = await runInside(attempt, stage(), sandbox, options.capabilities.users)
        expect(verdict.reached, verdict.detail).toBe(false)
      })
    }
    const ofKernel = attempts.filter((attempt) => !ofHost.includes(attempt))
    if (ofKernel.length > 0)
      ownKernel(suite, `${group}: whatever its own kernel answers, the host stays as it is`, ofKernel, stage)
  }
}

/** A kernel of its own may grant what the host's must not; nothing of it may be seen outside. */
function ownKernel(suite: Suite, name: string, attempts: readonly Attempt[], stage: () => Stage): void {
  suite.own(name, { needs: ['processes'], timeoutMs: 120_000 }, async (sandbox) => {
    const before = hostState()
    for (const attempt of attempts) {
      await runInside(attempt, stage(), sandbox, suite.options.capabilities.users)
    }
    expect(hostState()).toEqual(before)
    expect((await (await suite.shared()).exec('echo unharmed')).stdout).toBe('unharmed\n')
  })
}

function shellInside(suite: Suite, stage: () => Stage): void {
  for (const attempt of SHELL_ATTEMPTS) {
    suite.test(attempt.name, {}, async (sandbox) => {
      const result = await sandbox.exec(attempt.script(stage()), { timeoutMs: 10_000 })
      expect(result.output).not.toContain(stage().secret)
      expect(attempt.happened?.(stage()) ?? false).toBe(false)
    })
  }
}

function useStage(): () => Stage {
  let stage: Stage | null = null
  beforeAll(async () => {
    stage = new Stage()
    await stage.open()
  })
  afterAll(() => stage?.close())
  return () => {
    if (stage === null) throw new Error('the stage is not open')
    return stage
  }
}

async function shellOnHost(script: string): Promise<string> {
  return await new Promise((resolve) =>
    exec(script, { timeout: 10_000 }, (_error, stdout) => setTimeout(() => resolve(stdout), 150)),
  )
}
