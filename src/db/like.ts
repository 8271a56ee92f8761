/** A pattern for `like` and `ilike` that matches texts which contain this one, with `%` and `_` taken literally. */
export function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
}
