import type { Rule } from '../rules/rule.ts'

const DOCS = {
  source: 'docs.joinmastodon.org, Posting to your profile',
  seen: '2026-11',
  confidence: 'read',
} as const
const CODE = {
  source: 'mastodon/mastodon, media_attachment.rb, attachmentable.rb and rate_limiter.rb',
  seen: '2026-11',
  confidence: 'read',
} as const
/** The answers are counted without white space around them (app/models/poll.rb, prepare_options). */
const POLLS = {
  source: 'mastodon/mastodon, poll_options_validator.rb and poll_expiration_validator.rb',
  seen: '2026-11',
  confidence: 'read',
} as const
const INSTANCE = 'The instance decides. This is the default of Mastodon.'
const MIB = 1_048_576

/** Defaults of Mastodon. `/api/v2/instance` of the account's server replaces them. */
export const rules: readonly Rule[] = [
  { id: 'text.max', value: 500, counting: 'mastodon', ...DOCS, note: INSTANCE },
  { id: 'alt.max', value: 1_500, counting: 'characters', ...CODE },
  { id: 'comment.max', value: 500, counting: 'mastodon', ...DOCS, note: INSTANCE },
  { id: 'thread.max', value: 25, ...DOCS, note: 'Mastodon has no limit. Crier sends at most 25 parts.' },
  { id: 'media.max', value: 4, ...DOCS, note: INSTANCE },
  { id: 'media.mixed', value: 0, ...DOCS },
  { id: 'image.max', value: 4, ...DOCS, note: INSTANCE },
  { id: 'image.maxBytes', value: 16 * MIB, ...DOCS, note: INSTANCE },
  { id: 'image.maxPixels', value: 33_177_600, ...CODE, note: INSTANCE },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/heic', 'image/avif'],
    ...DOCS,
  },
  { id: 'video.max', value: 1, ...DOCS },
  { id: 'video.maxBytes', value: 99 * MIB, ...DOCS, note: INSTANCE },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime', 'video/webm'], ...DOCS },
  { id: 'poll.minOptions', value: 2, ...POLLS },
  { id: 'poll.maxOptions', value: 4, ...POLLS, note: INSTANCE },
  { id: 'poll.optionMax', value: 50, counting: 'graphemes', ...POLLS, note: INSTANCE },
  { id: 'poll.minMinutes', value: 5, ...POLLS, note: INSTANCE },
  { id: 'poll.maxMinutes', value: 43_829, ...POLLS, note: 'A month, 2,629,746 seconds. The instance decides.' },
  { id: 'poll.withMedia', value: 0, ...DOCS },
  { id: 'posts.perHour', value: 100, ...CODE, note: '300 statuses in three hours.' },
]
