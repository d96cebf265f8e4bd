import { serve, type Server } from '@hearth/server'
import { HearthCommand } from './hearth-command.ts'

/** A server on loopback in this process, and the real binary beside it with the same home. */
export class ServerCommand implements AsyncDisposable {
  readonly hearth: HearthCommand
  readonly server: Server

  private constructor(hearth: HearthCommand, server: Server) {
    this.hearth = hearth
    this.server = server
    hearth.env['HEARTH_URL'] = server.url
  }

  /** `furnish` puts things into the home before the server has it. */
  static async start(furnish: (home: string) => void = () => undefined): Promise<ServerCommand> {
    const hearth = await HearthCommand.create()
    furnish(hearth.home)
    return new ServerCommand(
      hearth,
      await serve({ home: hearth.home, port: 0, logLevel: 'silent', prepare: false, engine: { spareKeepers: 0 } }),
    )
  }

  /** A sandbox on the rung that starts quickest. */
  async create(...options: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.hearth.run(['create', '-q', '--rung', 'process', ...options])
    if (code !== 0) throw new Error(stderr)
    return stdout.trim()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ids = (await this.hearth.run(['ls', '-q'])).stdout.split('\n').filter((id) => id !== '')
    if (ids.length > 0) await this.hearth.run(['rm', ...ids])
    await this.server.stop({ graceMs: 1000 })
    await this.hearth[Symbol.asyncDispose]()
  }
}
