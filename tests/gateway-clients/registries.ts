import { createHash } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What a server has to offer, by path. */
export type Pages = Readonly<Record<string, { readonly type: string; readonly body: string | Buffer }>>

/** A registry of npm with one package, `hearthling`, that says `kindled`. */
export async function npmRegistry(origin: string): Promise<Pages> {
  const folder = await mkdtemp(join(tmpdir(), 'hearth-npm-'))
  try {
    await mkdir(join(folder, 'package'))
    const manifest = { name: 'hearthling', version: '1.0.0', main: 'index.js' }
    await writeFile(join(folder, 'package', 'package.json'), JSON.stringify(manifest))
    await writeFile(join(folder, 'package', 'index.js'), "module.exports = 'kindled'\n")
    await run('tar', ['-czf', 'package.tgz', 'package'], { cwd: folder })
    const archive = await readFile(join(folder, 'package.tgz'))
    const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
    const dist = { tarball: `${origin}/npm/hearthling/-/hearthling-1.0.0.tgz`, integrity }
    const versions = { '1.0.0': { ...manifest, dist } }
    const document = JSON.stringify({ name: 'hearthling', 'dist-tags': { latest: '1.0.0' }, versions })
    return {
      '/npm/hearthling': { type: 'application/json', body: document },
      '/npm/hearthling/-/hearthling-1.0.0.tgz': { type: 'application/octet-stream', body: archive },
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes a wheel as PEP 427 wants it. */
const WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('hearthling.py', "said = 'kindled'\\n")
    info = 'hearthling-1.0.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: hearthling\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', 'hearthling.py,,\\n' + ''.join(f'{info}{name},,\\n' for name in ('METADATA', 'WHEEL', 'RECORD')))
`

/** A simple index of Python packages with the same. */
export async function pythonIndex(): Promise<Pages> {
  const folder = await mkdtemp(join(tmpdir(), 'hearth-pypi-'))
  try {
    const file = 'hearthling-1.0-py3-none-any.whl'
    await run('python3', ['-c', WHEEL, join(folder, file)])
    const wheel = await readFile(join(folder, file))
    const digest = createHash('sha256').update(wheel).digest('hex')
    return {
      '/simple/hearthling/': { type: 'text/html', body: `<a href="/wheels/${file}#sha256=${digest}">${file}</a>` },
      [`/wheels/${file}`]: { type: 'application/octet-stream', body: wheel },
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
