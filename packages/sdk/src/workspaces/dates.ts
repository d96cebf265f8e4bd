import { HearthError } from '../hearth-error.ts'

/** A view of the server with its times as dates. */
export type Dated<View, Names extends keyof View> = Readonly<
  Omit<View, Names> & { [Name in Names]: View[Name] extends string ? Date : Date | null }
>

export function dated<View extends object, Names extends keyof View>(
  view: View,
  names: readonly Names[],
): Dated<View, Names> {
  if (typeof view !== 'object' || view === null || !('id' in view)) {
    throw new HearthError('protocol_violation', 'the server answered something else than what was asked for')
  }
  const dates = names.map((name) => [name, view[name] === null ? null : new Date(view[name] as string)])
  return { ...view, ...Object.fromEntries(dates) } as Dated<View, Names>
}
