/** Something that the rung needs is not on this host: why it cannot work, and what would change that. */
export class MissingPart extends Error {
  override readonly name = 'MissingPart'
  readonly fix: string | null

  constructor(reason: string, fix: string | null) {
    super(reason)
    this.fix = fix
  }
}
