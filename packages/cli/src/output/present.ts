import { table } from './table.ts'
import { write, writeJson } from './write.ts'

/** How the answer is wanted: tables for people, `--json` for programs, `-q` for ids alone. */
export interface Presentation {
  readonly json?: boolean
  readonly quiet?: boolean
}

/** How things of one kind are shown. */
export interface View<Item> {
  readonly header: readonly string[]
  readonly id: (item: Item) => string
  readonly row: (item: Item) => readonly string[]
  /** Default: the item itself. */
  readonly json?: (item: Item) => unknown
}

/** Several things: an array, one id per line, or a table. */
export async function presentList<Item>(
  options: Presentation,
  items: readonly Item[],
  view: View<Item>,
): Promise<void> {
  if (options.json === true) return await writeJson(items.map((item) => (view.json ?? ((one: Item) => one))(item)))
  if (options.quiet === true) return await write(process.stdout, items.map((item) => `${view.id(item)}\n`).join(''))
  await write(process.stdout, table([view.header, ...items.map((item) => view.row(item))]))
}

/** One thing: an object, its id, or what `people` says. */
export async function presentOne(
  options: Presentation,
  item: { readonly id: string; readonly json: unknown; readonly people: () => string },
): Promise<void> {
  if (options.json === true) return await writeJson(item.json)
  await write(process.stdout, options.quiet === true ? `${item.id}\n` : item.people())
}

/** One JSON object on a line of its own, for streams. */
export async function writeJsonLine(value: unknown): Promise<void> {
  await write(process.stdout, `${JSON.stringify(value)}\n`)
}
