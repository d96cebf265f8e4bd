import { HearthError, type Sandbox } from '@hearth/contract'
import { posix } from 'node:path'

/** How long names are believed before they are read again. */
const BELIEVED_MS = 2000
const MOST_BYTES = 1024 * 1024

interface Names {
  readonly at: number
  readonly homes: ReadonlyMap<string, string>
  readonly users: ReadonlyMap<number, string>
  readonly groups: ReadonlyMap<number, string>
}

/** The user that templates have for commands; E2B's clients may name it also where an image has none. */
const DEFAULT_USER = 'user'

/** Names of users and groups as the sandbox has them. What it says about them is used for nothing but its own paths and answers. */
export class Users {
  readonly #names = new WeakMap<Sandbox, Promise<Names>>()

  async names(sandbox: Sandbox): Promise<Names> {
    const known = this.#names.get(sandbox)
    if (known !== undefined && (await known).at > Date.now() - BELIEVED_MS) return await known
    const reading = readNames(sandbox)
    this.#names.set(sandbox, reading)
    return await reading
  }

  /** The user of a call, or null for the one that the sandbox has itself. */
  async require(sandbox: Sandbox, name: string | null): Promise<string | null> {
    if (name === null) return null
    const { homes } = await this.names(sandbox)
    if (homes.has(name)) return name
    if (name === DEFAULT_USER) return null
    throw new HearthError('unauthorized', `invalid username: '${name.slice(0, 64)}'`)
  }

  /** An absolute path: `~` and what is relative lie in the home of the user. */
  async resolve(sandbox: Sandbox, user: string | null, path: string): Promise<string> {
    if (path.startsWith('/')) return path
    const { homes } = await this.names(sandbox)
    const home = homes.get(user ?? DEFAULT_USER) ?? homes.get('root') ?? '/'
    return posix.join(home, path.replace(/^~(?=\/|$)/, ''))
  }
}

async function readNames(sandbox: Sandbox): Promise<Names> {
  const [passwd, group] = await Promise.all([records(sandbox, '/etc/passwd'), records(sandbox, '/etc/group')])
  return {
    at: Date.now(),
    homes: new Map(passwd.map(([name = '', , , , , home = '/']) => [name, home.startsWith('/') ? home : '/'])),
    users: new Map(passwd.map(([name = '', , id]) => [Number(id), name])),
    groups: new Map(group.map(([name = '', , id]) => [Number(id), name])),
  }
}

async function records(sandbox: Sandbox, path: string): Promise<string[][]> {
  try {
    const text = await sandbox.files.readText(path, { length: MOST_BYTES })
    return text
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => line.split(':'))
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'file_not_found') return []
    throw error
  }
}
