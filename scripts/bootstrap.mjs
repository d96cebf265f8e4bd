// The first step of `npm start`, `npm run setup`, `npm test` and `npm run check`. It must run on Node 20 with nothing installed:
// it makes node_modules match the lockfile and hands over to scripts/main.ts under the Node 24 that comes with it.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * Whether what npm installed (its own record, written last) is what the lockfile asks for.
 *
 * @param {string} root folder with package-lock.json
 * @returns {string | null} null when it is, else the reason why not
 */
export function whyInstall(root) {
  const record = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(record)) return 'node_modules is missing'
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/')) continue
    const present = installed[path]
    if (present === undefined && entry.optional !== true) return `${path} is missing`
    if (present !== undefined && present.version !== entry.version) return `${path} has another version`
  }
  const extra = Object.keys(installed).find((path) => wanted[path] === undefined)
  return extra === undefined ? null : `${extra} is no longer in the lockfile`
}

/** @param {string} root */
function installDependencies(root) {
  const reason = whyInstall(root)
  if (reason === null) return
  console.error(`• installing npm packages (${reason})`)
  // Errors alone: it would warn of every package that wants the Node 24 which comes with them.
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (status === 0) return
  console.error('npm ci failed; its output is above. Check that the npm registry answers and try again.')
  process.exit(1)
}

function main() {
  const root = join(dirname(fileURLToPath(import.meta.url)), '..')
  installDependencies(root)
  const bin = join(root, 'node_modules', '.bin')
  const child = spawn(join(bin, 'node'), [join(root, 'scripts', 'main.ts'), ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH ?? ''}` },
  })
  // An interrupt from the terminal reaches the child by itself; this process only waits for it to end.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('error', (error) => {
    console.error(`Node 24 from node_modules does not start: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 9)
  })
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
