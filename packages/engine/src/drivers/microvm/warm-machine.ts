import type { Link } from '../../link/link.ts'
import { LinkMachine } from '../../machine/link-machine.ts'
import type { DirectoryTemplate } from '../../templates/template.ts'
import { greet } from '../greet-machine.ts'

/** What a machine has before it is told who it is. */
const NAME = 'hearth'
const BOOT_MS = 120_000
const COMMAND_MS = 60_000
/** What most commands begin with: programs that lie in memory when a copy starts them. Where one is missing there is nothing to be warmed. */
const TOOLS = '/bin/true; /bin/echo; /bin/cat /dev/null; /bin/ls -d /'
/** Of Volumes. */
const PREPARE_VOLUMES = 2

/**
 * Lets a machine that is about to be baked do once what every sandbox does first: run a command, and take its configuration. Whatever goes on
 * from it then has the files of that in memory. Nothing of it is left but the template's working directory, which most sandboxes have.
 */
export async function warmMachine(
  link: Link,
  template: DirectoryTemplate,
  limits: { readonly pids: number; readonly openFiles: number },
  volumes: boolean,
): Promise<void> {
  await link.hello({ timeoutMs: BOOT_MS })
  if (volumes) await link.request('Volumes', { flags: PREPARE_VOLUMES, readOnly: 0, places: [] })
  await runShell(link)
  const workdir = template.workdir ?? '/'
  // The last, so that the guest knows of nothing that has touched the working directory since.
  await greet(
    link,
    { hostname: NAME, environment: template.environment, workdir, user: template.user ?? '', limits },
    { restored: false, renewed: false },
  )
}

async function runShell(link: Link): Promise<void> {
  const never = Promise.withResolvers<never>().promise
  const machine = new LinkMachine({ link, ended: never, kill: async () => undefined, release: async () => undefined })
  const command = {
    env: {},
    cwd: null,
    user: null,
    timeoutMs: COMMAND_MS,
    pty: null,
    stdin: 'none',
    mergeOutput: false,
  } as const
  // An image without a shell has nothing to be warmed.
  const started = await machine.spawn({ command: ['/bin/sh', '-c', TOOLS], ...command }).catch(() => null)
  if (started === null) return
  await started.wait()
  await link.request('Forget', { process: started.id })
}
