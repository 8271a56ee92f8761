import { describe, expect, test } from 'vitest'
import { FakePlatform, partOf } from '../../test/support/fake-platform.ts'
import { mediaOf } from '../../test/support/drafts.ts'
import { publicText } from '../tools/clean-text.ts'
import { partsOf } from '../domains/publishing/publication/claims/parts.ts'
import { publicContent, type PostContent } from './content.ts'
import { PLATFORMS } from './registry.ts'

/** Characters that no platform may get, with what is left of a text between which they stand. */
const CONTROLS = [
  ...Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)),
  '\u007F',
  '\u0085',
  '\u009F',
  '\uD800',
  '\uFFFE',
  '\uDC00',
  '\uFFFF',
]
const ALL = CONTROLS.join('')

describe('a text for a platform', () => {
  test.each(CONTROLS.map((one) => [`U+${one.charCodeAt(0).toString(16).padStart(4, '0')}`, one]))(
    'has no %s',
    (_, one) => {
      const left = one === '\t' ? '\t' : '\n\r\u0085'.includes(one) ? '\n' : ''
      expect(publicText(`a${one}b`)).toBe(`a${left}b`)
    },
  )

  test('keeps everything else, and has one kind of line end', () => {
    const text = 'Ü 👨‍👩‍👧 \u200D\u00AD\u202E\t\n\n\u{1F600}\uFFFD'
    expect(publicText(text)).toBe(text)
    expect(publicText('a\r\nb\rc\n\r\nd')).toBe('a\nb\nc\n\nd')
    expect(publicText('\uD83D\u0000\uDE00'), 'two halves do not become a character').toBe('')
  })
})

/** What posts need at some platforms. */
const NEEDS: Readonly<Record<string, 'image' | 'video'>> = {
  instagram: 'image',
  pinterest: 'image',
  tiktok: 'video',
  youtube: 'video',
}
const OPTIONS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  reddit: { subreddit: 'sandbox' },
  tiktok: { privacy_level: 'SELF_ONLY' },
  bluesky: { cardTitle: `Card${ALL}` },
}
const TITLED = ['youtube', 'reddit', 'pinterest', 'wordpress']
/** Such characters in JSON, where most are escaped. */
const ESCAPED =
  /\\u(?:00(?:0[0-8bcef]|1[\da-f]|[89][\da-f]|7f)|d[89a-f]..|fff[ef])|\\[bfr]|[\u007F-\u009F\uFFFE\uFFFF]/i

test('there are 14 platforms', () => {
  expect(PLATFORMS).toHaveLength(14)
})

test.each(PLATFORMS.map((platform) => [platform.title, platform] as const))(
  '%s gets no control characters',
  async (_title, platform) => {
    const peer = await FakePlatform.start(platform)
    try {
      const context = await peer.connect()
      const kind = NEEDS[platform.key]
      const type = kind === 'video' ? 'video/mp4' : 'image/jpeg'
      const media = kind === undefined ? [] : [mediaOf(peer, { kind, type, bytes: 100_000, altText: `Alt${ALL}` })]
      const places = platform.key === 'pinterest' ? await platform.places?.(context) : undefined
      const options = { ...OPTIONS[platform.key], ...(places && { board_id: places[0]?.id }) }
      const content: PostContent = {
        text: `Start${ALL}end`,
        media,
        options,
        ...(TITLED.includes(platform.key) && { title: `Title${ALL}` }),
      }
      const [part] = partsOf(publicContent(content))
      await peer.publish(context, partOf('', { ...part, createdAt: peer.clock.now() }))
      expect(JSON.stringify(peer.running.fake.state)).not.toMatch(ESCAPED)
      const [post] = peer.running.fake.posts()
      expect(post?.text).toContain(platform.key === 'youtube' ? 'Title' : 'Start')
      expect(post?.text).not.toMatch(ESCAPED)
    } finally {
      await peer.stop()
    }
  },
)

test('texts everywhere in a content are cleaned', () => {
  const dirty = (name: string) => `${name}${ALL}`
  const content: PostContent = {
    text: dirty('text'),
    title: dirty('title'),
    link: dirty('https://a.example/'),
    tags: [dirty('tag')],
    media: [{ id: '1', kind: 'image', type: 'image/png', bytes: 1, name: dirty('file'), altText: dirty('alt') }],
    thread: [{ text: dirty('reply'), media: [] }],
    firstComment: dirty('comment'),
    options: { nested: { list: [dirty('option')], count: 1, isSet: true, none: null } },
  }
  const clean = publicContent(content)
  expect(JSON.stringify(clean)).not.toMatch(ESCAPED)
  expect(clean.options).toEqual({ nested: { list: ['option\t\n\n\n'], count: 1, isSet: true, none: null } })
  expect(clean.media[0]).toMatchObject({ id: '1', bytes: 1, altText: 'alt\t\n\n\n' })
})
