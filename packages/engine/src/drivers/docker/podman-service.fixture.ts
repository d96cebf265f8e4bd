import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '../staging/programs.ts'

export interface PodmanService extends AsyncDisposable {
  readonly socketPath: string
}

/** Podman's API on a socket of its own, with storage of its own, or null where there is no podman that could do this. */
export async function startPodmanService(directory: string): Promise<PodmanService | null> {
  const [podman, runtime] = await Promise.all([findProgram('podman'), findProgram('runc')])
  if (podman === null || runtime === null || process.getuid?.() !== 0) return null
  await mkdir(directory, { recursive: true })
  // Its cleanup processes find the same settings here. runc, since crun refuses hosts with both versions of cgroups.
  const settings = join(directory, 'containers.conf')
  await writeFile(
    settings,
    `[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n[engine.runtimes]\nrunc = ["${runtime}"]\n`,
  )
  const storage = ['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')]
  const socketPath = join(directory, 'podman.sock')
  const child = spawn(podman, [...storage, 'system', 'service', '--time=0', `unix://${socketPath}`], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/usr/sbin:/bin:/sbin', HOME: directory, CONTAINERS_CONF: settings },
  })
  for (let attempt = 0; attempt < 100 && !existsSync(socketPath); attempt++) await sleep(100)
  if (!existsSync(socketPath)) {
    await end(child)
    return null
  }
  return {
    socketPath,
    [Symbol.asyncDispose]: async () => {
      await end(child)
      await removeStorage(podman, storage, directory)
    },
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** Podman leaves its storage mounted on itself. */
async function removeStorage(podman: string, storage: readonly string[], directory: string): Promise<void> {
  const reset = spawn(podman, [...storage, 'system', 'reset', '--force'], { stdio: 'ignore' })
  await new Promise((resolve) => reset.once('exit', resolve))
  const unmount = spawn('umount', ['-l', join(directory, 'storage', 'overlay')], { stdio: 'ignore' })
  await new Promise((resolve) => unmount.once('exit', resolve))
  await rm(directory, { recursive: true, force: true })
}
