import type { Texts } from '../language/texts.ts'

/** How many characters of a name a mail shows. */
const SHOWN = 60

/**
 * The name of a user for a mail to somebody else: on one line, shortened, in quotation marks that it cannot close, and
 * without anything that mail programs turn into a link. Otherwise a name could be used for advertising.
 */
export function quotedName(texts: Texts, name: string): string {
  return texts.say('mail.quoted', { name: plainName(name) })
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

/** A text of several lines that a user wrote to somebody else, without control characters and links. */
export function plainText(text: string): string {
  return unlinked(text.replaceAll(/[^\P{Cc}\n]+/gu, ' ').replaceAll(INVISIBLE, ''))
}

/** Direction marks, joiners and similar characters that can disguise a text. */
const INVISIBLE = /[\p{Cf}\p{Co}]/gu

function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(INVISIBLE, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Removes schemes and adds a space after dots inside words, so that mail programs make no links. */
function unlinked(text: string): string {
  return text
    .replaceAll(/(?<![a-z0-9+.-])[a-z0-9+.-]*:\/\//gi, '')
    .replaceAll(/(?<=[\p{L}\p{N}-])\.(?=[\p{L}])/gu, '. ')
}
