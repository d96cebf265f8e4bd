// What `npm start`, `npm run setup`, `npm test` and `npm run check` do, once node_modules is there. Started by bootstrap.mjs.
import { check } from './check.ts'
import { runTests } from './run-tests.ts'
import { setup } from './setup/setup.ts'
import { start } from './start.ts'

const [command, ...rest] = process.argv.slice(2)

switch (command) {
  case 'start':
    process.exitCode = await start(rest)
    break
  case 'setup':
    process.exitCode = (await setup({ tests: rest.includes('--tests'), retry: true })) ? 0 : 1
    break
  case 'test':
    process.exitCode = await runTests(rest)
    break
  case 'check':
    process.exitCode = await check()
    break
  default:
    console.error(`'${command ?? ''}' is not a command of this script; use start, setup, test or check`)
    process.exitCode = 2
}
