/** What takes two columns of a terminal, and what takes none. What is not known for certain counts as more. */
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u
const NONE = /[\p{Mn}\p{Me}\u200b-\u200f]/u
/** The character before it is drawn as a picture. */
const PICTURE = '\ufe0f'

/** The beginning of a line that fits into so many columns of a terminal: what is longer would go on in the next line. */
export function fitting(line: string, columns: number): string {
  let width = 0
  let end = 0
  for (const character of line) {
    width += widthOf(character)
    if (width > columns) break
    end += character.length
  }
  return line.slice(0, end)
}

function widthOf(character: string): number {
  if (WIDE.test(character)) return 2
  return NONE.test(character) && character !== PICTURE ? 0 : 1
}
