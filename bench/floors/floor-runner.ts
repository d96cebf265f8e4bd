import { createInterface } from 'node:readline'
import { measureRun, type FloorRun } from './measure-run.ts'

/** The program of the helper in floor-helper.ts: takes runs as lines of JSON and answers each with its milliseconds. */
for await (const line of createInterface(process.stdin)) {
  const answer = await measureRun(JSON.parse(line) as FloorRun).then(
    (milliseconds) => ({ milliseconds }),
    (error: unknown) => ({ problem: (error as Error).message }),
  )
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
