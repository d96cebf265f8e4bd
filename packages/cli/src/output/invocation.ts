/** How the reader of our output calls this program: in a clone of the repository through npm. */
export function invocation(): string {
  return process.env['npm_command'] === undefined ? 'hearth' : 'npx hearth'
}
