import { createHash } from 'node:crypto'

/** Addresses stay short. The column has 200 characters, in which letters beyond ASCII are percent-encoded. */
const MAX_CHARACTERS = 60
const MAX_ENCODED = 180
const KEY_BYTES = 5
const KEY_CHARACTERS = 8

/**
 * The slug of a post: words for people, and eight characters by which the post is found again. The same part of a post
 * always gets the same slug. WordPress would add `-2` to the slug of a second post, so the slug is looked up before a
 * post is created.
 * @param key of the part
 */
export function slugFor(words: string, key: string): string {
  const readable = words
    .normalize('NFKD')
    // Accents of Latin letters only. Other scripts need their marks.
    .replaceAll(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .replaceAll(/https?:\/\/\S+/gi, ' ')
    .toLowerCase()
    .replaceAll(/['’]/gu, '')
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter(Boolean)
  let slug = ''
  for (const word of readable) {
    const longer = slug === '' ? word : `${slug}-${word}`
    if (longer.length > MAX_CHARACTERS || encodeURIComponent(longer).length > MAX_ENCODED) break
    slug = longer
  }
  return slug === '' ? shortKey(key) : `${slug}-${shortKey(key)}`
}

/** Eight characters that stand for the key of a part. */
export function shortKey(key: string): string {
  const number = createHash('sha256').update(key).digest().readUIntBE(0, KEY_BYTES)
  return number.toString(36).padStart(KEY_CHARACTERS, '0')
}
