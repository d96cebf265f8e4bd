// For tests: a repository that somebody else has.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync, chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const PERSON = { name: 'Somebody', email: 'somebody@example.invalid' }

/** A repository with a work tree, and a bare one that it is pushed to. */
export class Upstream implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'hearth-upstream-'))
  /** Bare. */
  readonly path = join(this.root, 'upstream.git')
  readonly #work = join(this.root, 'work')

  constructor() {
    this.git('init', '--quiet', '--bare', '--initial-branch=main', this.path)
    this.git('init', '--quiet', '--initial-branch=main', this.#work)
    this.write('README.md', 'one\n')
    this.write('src/run.sh', '#!/bin/sh\necho hello\n')
    chmodSync(join(this.#work, 'src/run.sh'), 0o755)
    this.write('.gitignore', '*.log\n')
    symlinkSync('README.md', join(this.#work, 'link'))
    this.commit('first')
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.#work, path)), { recursive: true })
    writeFileSync(join(this.#work, path), content)
  }

  /** All that there is, on `main`. Gives the commit. */
  commit(message: string): string {
    this.git('-C', this.#work, 'add', '--all')
    this.git('-C', this.#work, 'commit', '--quiet', '-m', message)
    this.git('-C', this.#work, 'push', '--quiet', this.path, 'HEAD:refs/heads/main')
    return this.git('-C', this.#work, 'rev-parse', 'HEAD').trim()
  }

  show(what: string): string {
    return this.git('-C', this.path, 'show', what)
  }

  git(...args: string[]): string {
    const identity = ['-c', `user.name=${PERSON.name}`, '-c', `user.email=${PERSON.email}`]
    const env = { PATH: process.env['PATH'], HOME: this.root, GIT_CONFIG_NOSYSTEM: '1' }
    return execFileSync('git', [...identity, ...args], { env, encoding: 'utf8' })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
