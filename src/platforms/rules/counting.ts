import { createRequire } from 'node:module'
import type TwitterText from 'twitter-text'
import { countGraphemes } from 'unicode-segmenter/grapheme'
import type { CountingMethod } from './rule.ts'

/** Loaded with the first text for X: the library and its polyfills are 230 modules. */
let twitterText: typeof TwitterText | undefined
const require = createRequire(import.meta.url)

/** Length of any URL at X (t.co) and Mastodon. */
const URL_LENGTH = 23
/** A user at another server: the local part, and the host. */
const REMOTE_MENTION = /(?<![\w/])@(\w(?:[\w.-]*\w)?)@[\p{L}\p{N}.-]*[\p{L}\p{N}]/gu
/** A URL that Mastodon shows as a link: with its protocol, and without punctuation at the end. */
const LINK = /(?<![\p{L}\p{N}@/])https?:\/\/[\p{L}\p{N}.-]*[\p{L}\p{N}](?::\d+)?(?:[/?#][^\s<>]*)?/giu
/**
 * Trailing punctuation, which is not part of a link. A match starts only at the beginning of a run of punctuation, so the
 * time is linear even for long runs.
 */
export const AFTER_LINK = /(?<![!*"'「」;:=,.$%[\]~|@?)])[!*"'「」;:=,.$%[\]~|@?)]+$/u
/** Emoji, with everything that makes one of several code points: tones, joiners, flags, keycaps. */
const EMOJI = /\p{RGI_Emoji}|\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F?/gv

/** Whether a text can have emoji. The search for whole ones takes a microsecond for each character of other scripts. */
const MAYBE_EMOJI = /[\p{Emoji_Presentation}\p{Extended_Pictographic}\p{Regional_Indicator}\u{20E3}]/v

/** Longer than any host name can be (253, RFC 1035). */
const NO_HOST = /[\w.\-\u00C0-\u052F]{300,}/g

const METHODS: Readonly<Record<CountingMethod, (text: string) => number>> = {
  characters: codePoints,
  graphemes: countGraphemes,
  bytes: (text) => Buffer.byteLength(text, 'utf8'),
  utf16: (text) => text.length,
  x_weighted: xWeighted,
  mastodon: (text) =>
    countGraphemes(
      text
        .replaceAll(LINK, (link) => 'x'.repeat(URL_LENGTH) + (AFTER_LINK.exec(link)?.[0] ?? ''))
        .replaceAll(REMOTE_MENTION, '@$1'),
    ),
  threads: (text) => {
    let length = codePoints(text)
    if (!MAYBE_EMOJI.test(text)) return length
    for (const [emoji] of text.matchAll(EMOJI)) length += Buffer.byteLength(emoji, 'utf8') - codePoints(emoji)
    return length
  },
}

/** The length of a text as a platform counts it. */
export function countText(counting: CountingMethod, text: string): number {
  return METHODS[counting](text)
}

/** A length of a text. */
export interface Counted {
  readonly length: number
  /** Whether the text is longer than that: only its start was counted. */
  readonly isLeast: boolean
}

/** Methods that take time for a long text. The others are as fast as the text is read. */
const SLOW: readonly CountingMethod[] = ['graphemes', 'x_weighted', 'mastodon', 'threads']

/** Units that are counted of a text in any case. */
const SURELY_COUNTED = 4_000

/** The last length, because a post is checked for one account after the other. */
let last: (Counted & { readonly counting: CountingMethod; readonly text: string }) | undefined

/**
 * The length of a text for a comparison with a limit. Of a text that is far longer than the limit, only the start is
 * counted.
 */
export function countUpTo(counting: CountingMethod, text: string, limit: number): Counted {
  const most = SURELY_COUNTED + 8 * limit
  if (text.length > most && SLOW.includes(counting)) {
    // The cut can make a link of what is none, which counts more.
    const length = countUpTo(counting, text.slice(0, most), limit).length - URL_LENGTH
    if (length > limit) return { length, isLeast: true }
  }
  if (last?.counting !== counting || last.text !== text) {
    last = { counting, text, length: countText(counting, text), isLeast: false }
  }
  return last
}

/** The most that a UTF-16 unit can count, for methods that do not depend on links. */
const MAX_PER_UNIT: Readonly<Partial<Record<CountingMethod, number>>> = {
  characters: 1,
  graphemes: 1,
  utf16: 1,
  bytes: 3,
  threads: 3,
}

/**
 * Whether a text certainly fits a limit. False if it has to be counted. Most texts are far below their limit, and exact
 * counting costs as much as all other checks of a post.
 */
export function fitsForSure(counting: CountingMethod, text: string, limit: number): boolean {
  const perUnit = MAX_PER_UNIT[counting]
  if (perUnit !== undefined) return text.length * perUnit <= limit
  // Every link counts 23 units, even a shorter one, and has a dot or a protocol.
  let most = 0
  for (let index = 0; index < text.length && most <= limit; index += 1) {
    const unit = text.charCodeAt(index)
    most += unit === DOT || unit === COLON ? URL_LENGTH : unit < FIRST_WIDE ? 1 : MAX_PER_WIDE
  }
  return most <= limit
}

const DOT = 46
const COLON = 58
/** Characters below this code do not grow in Unicode's normal form C, and X counts each of them as one. */
const FIRST_WIDE = 0x300
/** X counts most other characters as two, after normalization to form C, which turns one unit into up to three. */
const MAX_PER_WIDE = 6

/**
 * twitter-text looks for a host name at every dot of a run of letters, which takes seconds for thousands of dots. Runs
 * that are longer than a host name keep their weight without the dots.
 */
function xWeighted(text: string): number {
  twitterText ??= require('twitter-text') as typeof TwitterText
  return twitterText.parseTweet(text.replaceAll(NO_HOST, (run) => run.replaceAll('.', '_'))).weightedLength
}

function codePoints(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}
