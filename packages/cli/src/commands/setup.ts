import { setup } from '../../../../scripts/setup/setup.ts'
import { invocation } from '../output/invocation.ts'
import { writeJson } from '../output/write.ts'
import type { CommonOptions } from '../register/common.ts'

/** What `npm start` of a clone does first. Ends with 1 when no real rung can work afterwards. */
export async function setupMachine({ json = false, quiet = false }: CommonOptions): Promise<number> {
  const ready = await setup({ tests: false, retry: true, quiet })
  if (json) await writeJson({ ready })
  else if (ready && !quiet) process.stderr.write(`ready; \`${invocation()} doctor\` shows what works here\n`)
  return ready ? 0 : 1
}
