import { analyse } from 'chardet'

/** As much of a text as tells its charset. */
const MAX_BYTES = 64_000
/** Of 100. A lower one is a guess that is no better than the most frequent charset. */
const MIN_CONFIDENCE = 40
/** What mail programs of the West write if they declare nothing (WHATWG Encoding: also for ISO-8859-1). */
const USUAL = 'windows-1252'

/** The escape sequences with which ISO-2022-JP changes to Japanese (RFC 1468). All its bytes are ASCII. */
// oxlint-disable-next-line no-control-regex
const JAPANESE = /\u001B\$[@B]/

/** Decodes a text whose charset is not declared, or declared as one that its bytes do not fit. */
export function decodeUndeclared(bytes: Buffer): string {
  if (JAPANESE.test(bytes.toString('latin1', 0, MAX_BYTES))) return decoded(bytes, 'iso-2022-jp') ?? bytes.toString()
  return decoded(bytes, 'utf-8', true) ?? decoded(bytes, guess(bytes)) ?? bytes.toString('latin1')
}

function guess(bytes: Buffer): string {
  const [best] = analyse(bytes.subarray(0, MAX_BYTES))
  return best === undefined || best.confidence < MIN_CONFIDENCE ? USUAL : best.name
}

/** @returns undefined if the charset is not known, or if it does not fit and `fatal` is set */
function decoded(bytes: Buffer, charset: string, fatal = false): string | undefined {
  try {
    return new TextDecoder(charset, { fatal }).decode(bytes)
  } catch {
    return undefined
  }
}
