import leven from 'leven'
import { FIELD_ALIASES, type FieldAlias } from './field-aliases.ts'

/** A longer name is no misspelled field, so it is not compared. */
const LONGEST = 60
/** The maximum number of letters that differ. */
const MAX_TYPOS = 2
/** The maximum number of fields that a message lists. */
const MAX_LISTED = 12

const ALIASES: ReadonlyMap<string, FieldAlias> = new Map(FIELD_ALIASES.map((alias) => [alias.name, alias]))

/**
 * What is wrong with a field that an input does not have: the field that was probably meant, by a similar name or by
 * its name in other products, or the fields that there are. The cost does not grow with the length of the name.
 */
export function unknownField(name: string, known: readonly string[]): string {
  const hint =
    name.length > LONGEST ? undefined : (sameName(name, known) ?? otherName(name, known) ?? near(name, known))
  if (hint !== undefined) return `is not a known field; did you mean ${hint}?`
  return known.length > 0 && known.length <= MAX_LISTED
    ? `is not a known field; the known fields are ${known.join(', ')}`
    : 'is not a known field; leave it out'
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '')
}

/** The field that is only written in another way, such as `scheduled_for`. */
function sameName(name: string, known: readonly string[]): string | undefined {
  const wanted = folded(name)
  return known.find((field) => folded(field) === wanted)
}

/** The field that other products call so. */
function otherName(name: string, known: readonly string[]): string | undefined {
  const alias = ALIASES.get(folded(name))
  const field = alias?.fields.find((one) => known.includes(one))
  if (field === undefined) return undefined
  // What it takes is said of the first field.
  return field === alias?.fields[0] && alias.takes !== undefined ? `${field}, ${alias.takes}` : field
}

/** The field with the fewest letters that differ. */
function near(name: string, known: readonly string[]): string | undefined {
  const given = name.toLowerCase()
  let [best, fewest]: [string | undefined, number] = [undefined, MAX_TYPOS + 1]
  for (const field of known) {
    const typos = leven(given, field.toLowerCase(), { maxDistance: fewest })
    if (typos < fewest) [best, fewest] = [field, typos]
  }
  return best
}
