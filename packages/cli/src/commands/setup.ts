import { setup } from '../../../../scripts/setup/setup.ts'
import { invocation } from '../output/invocation.ts'

/** What `npm start` of a clone does first. Ends with 1 when no real rung can work afterwards. */
export async function setupMachine(): Promise<number> {
  const ready = await setup({ tests: false, retry: true })
  if (ready) process.stderr.write(`ready; \`${invocation()} doctor\` shows what works here\n`)
  return ready ? 0 : 1
}
