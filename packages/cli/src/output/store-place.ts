import type { StorePlace } from '@hearth/engine'

const TEXTS: Readonly<Record<StorePlace, string>> = {
  file: 'in a file of fixed size',
  mount: 'on the file system mounted there',
  home: 'on the file system of the home',
}

/** Where a store lies, for people. */
export function placeText(place: StorePlace): string {
  return TEXTS[place]
}
