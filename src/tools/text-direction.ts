const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const STRONG = /\p{L}/u

/** The direction of a text by its first letter (rules P2 and P3 of the Unicode Bidirectional Algorithm, UAX #9). */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const [first] = STRONG.exec(text) ?? []
  return first !== undefined && RIGHT_TO_LEFT.test(first) ? 'rtl' : 'ltr'
}
