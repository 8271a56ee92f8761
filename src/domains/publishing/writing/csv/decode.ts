import { cleanText } from '../../../../tools/clean-text.ts'

/** The text of a file, and what was assumed to read it. */
export interface DecodedText {
  readonly text: string
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'
  /** Set if the text may be wrong. */
  readonly warning: string | null
}

export type Decoded = DecodedText | { readonly problem: string }

/** The largest file that is read. */
export const MAX_BYTES = 2 * 1024 * 1024

/** What a file begins with that is no text. */
const NOT_TEXT: readonly (readonly [start: readonly number[], problem: string])[] = [
  [
    [0x50, 0x4b, 0x03, 0x04],
    'This is an Excel workbook or another compressed file. Save it as “CSV UTF-8 (Comma delimited)” and send that file.',
  ],
  [
    [0xd0, 0xcf, 0x11, 0xe0],
    'This is an Excel 97 workbook. Save it as “CSV UTF-8 (Comma delimited)” and send that file.',
  ],
  [[0x25, 0x50, 0x44, 0x46], 'This is a PDF file. Send a CSV file.'],
]

/**
 * Decodes the bytes of a sheet: UTF-8 with or without a byte order mark, UTF-16 with one (Excel's “Unicode Text”), and
 * Windows-1252 (Excel's plain “CSV”), which is assumed for bytes that are not UTF-8.
 */
export function decodeSheet(bytes: Uint8Array): Decoded {
  if (bytes.length > MAX_BYTES) return { problem: `The file is larger than ${MAX_BYTES / 1024 / 1024} MB. Split it.` }
  const other = NOT_TEXT.find(([start]) => start.every((byte, index) => bytes[index] === byte))
  if (other !== undefined) return { problem: other[1] }
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return textOf(bytes, 'utf-16le')
  if (first === 0xfe && second === 0xff) return textOf(bytes, 'utf-16be')
  try {
    return textOf(bytes, 'utf-8')
  } catch {
    const decoded = textOf(bytes, 'windows-1252')
    if ('problem' in decoded) return decoded
    return {
      ...decoded,
      warning:
        'The file is not UTF-8 and was read as Windows-1252. Check letters such as é and ü, or save it as “CSV UTF-8”.',
    }
  }
}

/** @throws TypeError if the bytes are not in the encoding */
function textOf(bytes: Uint8Array, encoding: DecodedText['encoding']): Decoded {
  const fatal = encoding === 'utf-8'
  const text = new TextDecoder(encoding, { fatal }).decode(bytes)
  if (text.includes('\0')) {
    return {
      problem: 'The file contains NUL characters, so it is not a CSV file, or UTF-16 without a byte order mark.',
    }
  }
  return { text: cleanText(text), encoding, warning: null }
}
