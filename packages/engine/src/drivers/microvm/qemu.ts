import { access, constants, stat } from 'node:fs/promises'
import { findProgram } from '../staging/programs.ts'
import { MissingPart } from './missing-part.ts'
import { runTool } from './run-tool.ts'

/** The programs that a machine is started with. */
export interface Qemu {
  readonly program: string
  /** For example `10.0.2`. */
  readonly version: string
  /** Which build of that version. */
  readonly build: string
  readonly firmware: string
  readonly bubblewrap: string
  /** Since 8.2 a machine's memory can be the private copy of a file that QEMU has for reading only. */
  readonly privateMemory: boolean
}

const PROGRAM = 'qemu-system-x86_64'
const INSTALL = 'apt-get install qemu-system-x86'
/**
 * qboot starts an ELF kernel in a few milliseconds. SeaBIOS, the default of newer packages, puts its tables where such a
 * kernel has its initial root, and hangs.
 */
const FIRMWARE = ['/usr/share/qemu/qboot.rom', '/usr/share/qemu/bios-microvm.bin', '/usr/local/share/qemu/qboot.rom']
const OLDEST = [6, 2] as const
const PRIVATE_MEMORY = [8, 2] as const

export async function findQemu(): Promise<Qemu> {
  if (process.arch !== 'x64') throw new MissingPart(`microVMs need an x86-64 host, and this is ${process.arch}`, null)
  const program = await findProgram(PROGRAM)
  if (program === null) throw new MissingPart(`${PROGRAM} is not installed`, INSTALL)
  const bubblewrap = await findProgram('bwrap')
  if (bubblewrap === null)
    throw new MissingPart('bwrap, which confines QEMU, is not installed', 'apt-get install bubblewrap')
  const text = (await runTool(program, ['--version'], { timeoutMs: 10_000 })).toString()
  const { size, mtimeMs } = await stat(program)
  const version = /version (\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1]
  if (version === undefined) throw new MissingPart(`${program} does not say its version`, INSTALL)
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new MissingPart(`QEMU ${version} is too old: ${OLDEST.join('.')} is the oldest that works`, INSTALL)
  }
  const privateMemory = major > PRIVATE_MEMORY[0] || (major === PRIVATE_MEMORY[0] && minor >= PRIVATE_MEMORY[1])
  const build = `${text.split('\n', 1)[0] ?? ''} ${size} ${Math.round(mtimeMs)}`
  return { program, version, build, firmware: await findFirmware(), bubblewrap, privateMemory }
}

async function findFirmware(): Promise<string> {
  for (const path of FIRMWARE) {
    // The one that is not named qboot must be so small that it cannot be SeaBIOS.
    const size = await stat(path).then(
      (found) => found.size,
      () => null,
    )
    if (size !== null && (path.endsWith('qboot.rom') || size <= 65_536)) {
      await access(path, constants.R_OK)
      return path
    }
  }
  throw new MissingPart('the firmware qboot.rom of QEMU is not installed', 'apt-get install qemu-system-data')
}
