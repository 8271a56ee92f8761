import { expect, test } from 'vitest'
import { safeFileName } from '../src/content/file-name.ts'
import { looksLikeSvg } from '../src/content/svg.ts'
import { fromVtt } from '../src/domains/media/ai/transcripts/subtitles.ts'
import { readTime } from '../src/domains/publishing/writing/csv/times.ts'
import { takesGzip } from '../src/http/page.ts'
import { plainName, plainText } from '../src/mail/user-text.ts'
import { facetsOf } from '../src/platforms/bluesky/facets.ts'
import { isSameText, textOfHtml } from '../src/platforms/fingerprint.ts'
import * as linkedin from '../src/platforms/linkedin/little-text.ts'
import { countText } from '../src/platforms/rules/counting.ts'
import * as wordpress from '../src/platforms/wordpress/blocks.ts'

/**
 * Functions that read texts of strangers on the main thread. Each input once took minutes, because a regular expression
 * began to search at every character, or tried every way to divide the text. Now all take milliseconds, so a test that
 * reaches its time limit has found such an expression.
 */

const LENGTH = 400_000

/** A text of repetitions of a part. */
const long = (part: string) => part.repeat(Math.ceil(LENGTH / part.length))

test('the type of a file that begins with many comments', () => {
  const comments = '<!---->\n'.repeat(30)
  expect(looksLikeSvg(Buffer.from(comments))).toBe(false)
  expect(looksLikeSvg(Buffer.from(`<?xml version="1.0"?>${comments}<!DOCTYPE svg>${comments}<svg>`))).toBe(true)
})

test('mails with long words', () => {
  expect(plainText(long('a'))).toBe(long('a'))
  expect(plainName(long('a.'))).toHaveLength(60)
  expect(plainText(`a${'1'.repeat(400)}://example.com`)).not.toContain('://')
})

test('texts that platforms return', () => {
  expect(isSameText(long('a'), 'a')).toBe(false)
  expect(isSameText(`See https://example.com/a ${long('a.')}com`, 'see')).toBe(true)
  expect(isSameText('Read more -http://example.com/a', 'Read more -https://t.co/abc')).toBe(true)
  expect(textOfHtml(`<p>one</p>${long('<')}`)).toBe(`one\n${long('<')}`)
  expect(linkedin.plainText(long('@['))).toBe(long('@['))
  const tag = `#${'a'.repeat(2_000)}`
  expect(linkedin.plainText(linkedin.littleText(tag))).toBe(tag)
  expect(linkedin.plainText(String.raw`{hashtag|\#|a} @[Ada](urn:li:1) ${long('{hashtag|#|')}`)).toContain('#a Ada')
})

test('the content of a WordPress site', () => {
  const gallery = '<!-- wp:gallery -->\n<!-- wp:image --><img><!-- /wp:image -->\n<!-- /wp:gallery -->'
  const video = '<!-- wp:video --><video></video><!-- /wp:video -->'
  const content = `${gallery}\n<!-- wp:paragraph -->\n<p>one</p>\n<!-- /wp:paragraph -->\n${video}\n`
  expect(wordpress.mediaBlocksOf(content + long('<!-- wp:file '))).toBe(`${gallery}\n\n${video}`)
  expect(wordpress.plainText(content)).toBe('one')
  expect(wordpress.plainText(`${content}<p>two</p>${long('<!-- wp:file ')}`)).toMatch(/^one\s+two\n<!-- wp:file/)
})

test.each([`http://example.com/${long('!')}x`, `@${long('0_')}`, `@a@${long('a.')}`, long('a')])(
  'the length of a post at Mastodon',
  (text) => {
    expect(countText('mastodon', text)).toBeGreaterThan(1)
  },
)

test('links and tags of a post at Bluesky', () => {
  expect(facetsOf(`#a${long('!')}x`, {})).toEqual([])
  expect(facetsOf(`http://example.com/${long('!')}x`, {})).toHaveLength(1)
  expect(facetsOf('#a! http://example.com/b!?', {}).map(({ features: [feature] }) => feature)).toMatchObject([
    { tag: 'a' },
    { uri: 'http://example.com/b' },
  ])
})

test.each(['2026-01-01', '1.1.2026', '1/1/2026'])('a cell of a sheet that begins with %s', (date) => {
  expect(readTime(`${date}${long(' ')}\nx`)).toEqual({
    problem: expect.stringMatching(/is not a date and time|has no time that exists/),
  })
})

test('subtitles with an open tag', () => {
  const [segment] = fromVtt(`00:01.000 --> 00:02.000\n<b>one</b> ${long('<')}`)
  expect(segment?.text).toMatch(/^one </)
})

test('names of files', () => {
  expect(safeFileName(`a${long(' ')}b.png`)).toMatch(/^a .*\.png$/)
})

test('the header Accept-Encoding', () => {
  expect(takesGzip(`gzip${long('\t')}x`)).toBe(false)
  expect(takesGzip('deflate, gzip ; level=1;q=0.5')).toBe(true)
  expect(takesGzip('gzip;q=0, *')).toBe(false)
  expect(takesGzip('gzip ; q = 0')).toBe(false)
})
