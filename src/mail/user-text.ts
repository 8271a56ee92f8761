/** Characters of a name that a mail shows. */
const SHOWN = 60

/**
 * A name that a user chose, as a mail to somebody else shows it: on one line, shortened, in quotation marks that it
 * cannot close, and without what mail programs turn into a link. Otherwise a name is an advertisement that we deliver.
 */
export function quotedName(name: string): string {
  return `“${plainName(name)}”`
}

/** The same without the quotation marks. */
export function plainName(name: string): string {
  const line = unlinked(oneLine(name)).replaceAll(/[“”„‟"]/g, '’')
  const characters = Array.from(line)
  return characters.length <= SHOWN
    ? line
    : `${characters
        .slice(0, SHOWN - 1)
        .join('')
        .trimEnd()}…`
}

/** A text of several lines that a user wrote to somebody else: no control characters, no links. */
export function plainText(text: string): string {
  return unlinked(text.replaceAll(/[^\P{Cc}\n]+/gu, ' ').replaceAll(INVISIBLE, ''))
}

/** Direction marks, joiners and the like: they make a text read as something else. */
const INVISIBLE = /[\p{Cf}\p{Co}]/gu

function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(INVISIBLE, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Schemes go, and a dot inside a word is followed by a blank: mail programs find no address there. */
function unlinked(text: string): string {
  return text.replaceAll(/[a-z][a-z0-9+.-]*:\/\//gi, '').replaceAll(/(?<=[\p{L}\p{N}-])\.(?=[\p{L}])/gu, '. ')
}
