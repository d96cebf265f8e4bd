import { afterAll, describe, test } from 'vitest'
import type { Sandbox, SandboxId, SandboxSpec } from '@hearth/contract'
import { missingNeed, type DriverCapabilities, type Need } from './capabilities.ts'

/** A test that is left out although the driver declares the capability. The reason is printed and counted. */
export interface SuiteSkip {
  readonly test: string
  readonly reason: string
}

/** A host process apart from this one, so that it can be killed without warning. */
export interface Survivor {
  /**
   * Starts a program that creates a sandbox, spawns `command` in it, reads `readBytes` of its output, prints
   * `{"sandbox": ID, "process": NUMBER}` as a line and then stays.
   */
  readonly argv: (command: string, readBytes: number) => readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Takes the sandbox up in this process. */
  readonly adopt: (id: SandboxId) => Promise<Sandbox>
}

export interface DriverSuiteOptions {
  readonly name: string
  /** A new sandbox of the driver under test; the suite kills it. */
  readonly create: (spec?: SandboxSpec) => Promise<Sandbox>
  readonly capabilities: DriverCapabilities
  readonly skip?: readonly SuiteSkip[]
  /** Needed when `capabilities.reconnect`. */
  readonly survivor?: Survivor
}

export interface TestOptions {
  readonly needs?: readonly Need[]
  readonly timeoutMs?: number
}

type Body = (sandbox: Sandbox) => Promise<void>

/** What the themes of a suite share: one sandbox for tests that leave it intact, and the rules about skipping. */
export class Suite {
  readonly options: DriverSuiteOptions
  readonly #names = new Set<string>()
  #shared: Promise<Sandbox> | null = null

  constructor(options: DriverSuiteOptions) {
    this.options = options
  }

  /** A test in the sandbox that the whole suite shares. It must leave nothing behind that another test could meet. */
  test(name: string, options: TestOptions, body: Body): void {
    this.plain(name, options, async () => await body(await this.shared()))
  }

  /** A test in a sandbox of its own. */
  own(name: string, options: TestOptions & { readonly spec?: SandboxSpec }, body: Body): void {
    this.plain(name, options, async () => {
      await using sandbox = await this.options.create(options.spec)
      await body(sandbox)
    })
  }

  /** A test that makes its own sandboxes. */
  plain(name: string, options: TestOptions, body: () => Promise<void>): void {
    if (this.#names.has(name)) throw new Error(`two tests are called "${name}"`)
    this.#names.add(name)
    test(name, { timeout: options.timeoutMs ?? 30_000 }, async (context) => {
      const reason = this.#skipReason(name, options.needs ?? [])
      if (reason !== null) context.skip(reason)
      await body()
    })
  }

  async shared(): Promise<Sandbox> {
    const existing = await this.#shared?.catch(() => null)
    if (existing?.info.state === 'running') return existing
    this.#shared = this.options.create()
    return await this.#shared
  }

  async dispose(): Promise<void> {
    await (await this.#shared?.catch(() => null))?.kill()
  }

  /** A skip that names no test is a mistake: it hides that the test it meant now runs, or never did. */
  unknownSkips(): readonly string[] {
    return (this.options.skip ?? []).map((skip) => skip.test).filter((name) => !this.#names.has(name))
  }

  #skipReason(name: string, needs: readonly Need[]): string | null {
    const entry = this.options.skip?.find((skip) => skip.test === name)
    return entry?.reason ?? missingNeed(this.options.capabilities, needs)
  }
}

/** Describes a suite made of themes, with the shared sandbox killed at the end. */
export function describeSuite(
  options: DriverSuiteOptions,
  themes: Readonly<Record<string, (suite: Suite) => void>>,
): void {
  describe(options.name, () => {
    const suite = new Suite(options)
    for (const [theme, define] of Object.entries(themes)) {
      describe(theme, () => {
        define(suite)
      })
    }
    test('every skip names a test of the suite', ({ expect }) => {
      expect(suite.unknownSkips()).toEqual([])
    })
    afterAll(async () => await suite.dispose(), 60_000)
  })
}
