import { expect, test } from 'vitest'
import type { PostContent, PostMedia } from './content.ts'
import { findPlatform } from './registry.ts'
import { check } from './rules/engine.ts'
import { effectiveLimits } from './rules/limits.ts'

/** Posts that platforms refuse for a reason that is no limit. `agreement.test.ts` finds others by generated posts. */

const image: PostMedia = {
  id: 'a',
  kind: 'image',
  type: 'image/jpeg',
  name: 'a.jpg',
  bytes: 1_000,
  width: 1_080,
  height: 1_080,
}
const video: PostMedia = {
  ...image,
  kind: 'video',
  type: 'video/mp4',
  name: 'a.mp4',
  height: 1_920,
  seconds: 10,
  fps: 30,
  videoCodec: 'h264',
  audioCodec: 'aac',
}
const embed = { description: 'x'.repeat(2_000) }

const cases: readonly (readonly [platform: string, content: Partial<PostContent>, message: string])[] = [
  ...['x', 'mastodon', 'threads', 'linkedin', 'telegram', 'discord'].map(
    (platform) => [platform, { title: 'Only a title' }, 'The post is empty.'] as const,
  ),
  ['youtube', { title: 'a < b', media: [video] }, 'The title has < or >, which YouTube refuses.'],
  ['youtube', { title: 'A', text: 'a > b', media: [video] }, 'The text has < or >, which YouTube refuses.'],
  ['youtube', { title: 'A', tags: ['ok', '<b>'], media: [video] }, 'The tag “<b>” has < or >, which YouTube refuses.'],
  [
    'discord',
    { text: 'A', options: { embeds: [embed, embed, embed, embed] } },
    'The embeds have 8000 characters together',
  ],
  [
    'tiktok',
    { media: [video], options: { privacy_level: 'SELF_ONLY', brand_content_toggle: true } },
    'TikTok refuses a paid partnership that only the creator sees.',
  ],
  ['x', { text: 'A', media: [image], options: { quote_tweet_id: '1' } }, 'X takes no files in a post that quotes'],
  [
    'x',
    { text: 'A', options: { quote_tweet_id: '1', poll: { options: ['a', 'b'] } } },
    'X takes no poll in a post that quotes another one.',
  ],
  [
    'telegram',
    { text: 'A', options: { parse_mode: 'HTML', poll: { options: ['a', 'b'] } } },
    'The question of a poll at Telegram has no markup.',
  ],
  [
    'linkedin',
    { text: 'A', link: 'https://example.com/', options: { poll: { question: 'Which?', options: ['a', 'b'] } } },
    'LinkedIn has no card of a link in a post with a poll.',
  ],
  [
    'discord',
    { text: 'A', options: { thread_id: '100000000000000002', thread_name: 'B' } },
    'A message at Discord goes to a thread or begins one.',
  ],
  ['discord', { text: 'A', options: { applied_tags: ['100000000000000002'] } }, 'Only a new post in a forum has tags'],
  ['facebook', { media: [image, image], options: { placement: 'story' } }, 'The story has 2 files'],
  ['facebook', { text: 'A', options: { placement: 'story' } }, 'The story has no file'],
  ['facebook', { media: [{ ...video, seconds: 61 }], options: { placement: 'story' } }, 'The video has 61 seconds'],
  [
    'facebook',
    { media: [video], firstComment: 'A', options: { placement: 'story' } },
    'Stories of Facebook have no comm',
  ],
  ['instagram', { media: [video, video], options: { placement: 'story' } }, 'The story has 2 files'],
  ['wordpress', { text: 'A', title: 'A', firstComment: 'B', options: { comment_status: 'closed' } }, 'no comments'],
]

test.each(cases)('%s refuses %j', (key, content, message) => {
  const platform = findPlatform(key)!
  const post = { text: '', media: [], options: {}, ...content }
  const errors = check(platform, effectiveLimits(platform), post).filter(({ severity }) => severity === 'error')
  expect(errors.map((error) => error.message)).toEqual([expect.stringContaining(message)])
})

test('a title is a post where the platform publishes it', () => {
  const platform = findPlatform('reddit')!
  const post = { title: 'Only a title', text: '', media: [], options: { subreddit: 'pics' } }
  expect(check(platform, effectiveLimits(platform), post)).toEqual([])
})
