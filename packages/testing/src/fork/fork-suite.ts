import type { CreateFrom, Sandbox, SandboxInfo, SnapshotInfo } from '@hearth/contract'
import type { Suite, SuiteSkip, TestOptions } from '../support/suite.ts'
import type { DriverCapabilities } from '../support/capabilities.ts'

export interface ForkSuiteOptions {
  readonly name: string
  /** A new sandbox of the rung under test; the suite kills it. */
  readonly create: (spec?: CreateFrom) => Promise<Sandbox>
  readonly capabilities: DriverCapabilities & { readonly memory: boolean }
  /** A template of the rung with `python3`. */
  readonly pythonTemplate: string
  /** The sandboxes that there are, whoever made them. */
  readonly list: () => Promise<readonly SandboxInfo[]>
  readonly snapshots: {
    list(): Promise<readonly SnapshotInfo[]>
    get(snapshot: string): Promise<SnapshotInfo>
    remove(snapshot: string): Promise<void>
  }
  readonly skip?: readonly SuiteSkip[]
}

type Body = (parent: Sandbox) => Promise<void>

/** What the themes of the fork suite share. */
export class ForkSuite {
  readonly options: ForkSuiteOptions
  readonly #suite: Suite

  constructor(options: ForkSuiteOptions, suite: Suite) {
    this.options = options
    this.#suite = suite
  }

  /** A test with a sandbox of its own. */
  test(name: string, options: TestOptions & { readonly spec?: CreateFrom }, body: Body): void {
    this.#suite.plain(name, options, async () => {
      await using parent = await this.options.create(options.spec)
      await parent.exec('mkdir /tmp/srv')
      await body(parent)
    })
  }

  /** As `test`, only where running processes are captured, and with python. */
  withMemory(name: string, timeoutMs: number, body: Body): void {
    this.#suite.plain(name, { timeoutMs }, async () => {
      await using parent = await this.options.create({ template: this.options.pythonTemplate })
      await parent.exec('mkdir /tmp/srv')
      await body(parent)
    })
  }
}

/** Copies that are gone at the end of the block. */
export class Copies<Child extends Sandbox = Sandbox> implements AsyncDisposable {
  readonly all: readonly Child[]

  constructor(all: readonly Child[]) {
    this.all = all
  }

  /** The only one, or the first. */
  get first(): Child {
    const [first] = this.all
    if (first === undefined) throw new Error('there is no copy')
    return first
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((child) => child.kill()))
  }
}
