import type { Machine } from '../../machine/machine.ts'
import type { StoredSnapshot } from '../../store/snapshot-manifest.ts'
import { TEMPLATE_PATH, TEMPLATE_USER } from '../../templates/base-files.ts'
import type { LaunchRequest } from '../driver.ts'
import { restoreTree } from './captured-tree.ts'
import { makeLayout } from './layout.ts'
import { MemoryTree } from './memory-tree.ts'
import { treeLimits } from './simulated-limits.ts'
import { SimulatedMachine } from './simulated-machine.ts'

const INTERPRETER_COMMANDS = ['python3', 'python', 'js-exec', 'node']

export async function launchSimulated(request: LaunchRequest, interpreters: boolean): Promise<Machine> {
  const { limits, hostname, workdir } = request
  const earlier = async (base: StoredSnapshot | null): Promise<MemoryTree> => {
    const tree = new MemoryTree(treeLimits(limits))
    if (base === null) makeLayout(tree, { hostname, commands: interpreters ? INTERPRETER_COMMANDS : [] })
    else await restoreTree(tree, base, hostname)
    return tree
  }
  const tree = await earlier(request.from)
  for (const { path, ...volume } of request.volumes) tree.mount(path, volume)
  tree.makeDirectory(workdir, { parents: true })
  const user = request.user === '' ? TEMPLATE_USER.name : request.user
  const environment = { PATH: TEMPLATE_PATH, HOME: TEMPLATE_USER.home, USER: user, ...request.environment }
  return new SimulatedMachine({
    tree,
    limits,
    hostname,
    workdir,
    user,
    environment,
    interpreters,
    earlier,
    ...(request.network === undefined ? {} : { network: request.network }),
  })
}
