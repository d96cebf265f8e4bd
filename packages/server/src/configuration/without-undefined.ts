type Defined<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> }

/** Options that were not given are not there, rather than being undefined. */
export function withoutUndefined<Value extends object>(value: Value): Defined<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<Value>
}
