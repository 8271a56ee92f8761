import type { Rule } from '../rules/rule.ts'

const LEXICONS = { source: 'lexicons of @atproto/api 0.21.0', seen: '2026-11', confidence: 'read' } as const
const LIMITS = {
  source: 'docs.bsky.app, Rate limits; @atproto/pds 0.5.35',
  seen: '2026-11',
  confidence: 'read',
} as const
const APP = { source: 'bluesky-social/social-app, constants.ts', seen: '2026-11', confidence: 'read' } as const
const MB = 1_000_000

/** Limits of the records that the app view accepts. The server of the account may take smaller files. */
export const rules: readonly Rule[] = [
  { id: 'text.max', value: 300, counting: 'graphemes', ...LEXICONS },
  { id: 'text.maxBytes', value: 3_000, counting: 'bytes', ...LEXICONS },
  { id: 'comment.max', value: 300, counting: 'graphemes', ...LEXICONS, note: 'A comment is a reply.' },
  {
    id: 'alt.max',
    value: 2_000,
    counting: 'graphemes',
    ...APP,
    note: 'The lexicon has no limit.',
  },
  { id: 'thread.max', value: 25, ...LEXICONS, note: 'Bluesky has no limit. Crier sends at most 25 parts.' },
  { id: 'link.card', value: 1, ...LEXICONS, note: 'Only without media.' },
  { id: 'link.withMedia', value: 0, ...LEXICONS, note: 'A post embeds either a card or files.' },
  {
    id: 'tags.max',
    value: 640,
    counting: 'characters',
    ...LEXICONS,
    note: 'At most 8 tags, each up to 64 characters.',
  },
  { id: 'media.max', value: 4, ...LEXICONS },
  { id: 'media.mixed', value: 0, ...LEXICONS },
  { id: 'image.max', value: 4, ...LEXICONS },
  { id: 'image.maxBytes', value: 2 * MB, ...LEXICONS },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/webp'],
    ...LEXICONS,
    confidence: 'reported',
    note: 'The lexicon takes any image. These are what apps show.',
  },
  { id: 'video.max', value: 1, ...LEXICONS },
  { id: 'video.maxBytes', value: 300 * MB, ...LEXICONS },
  {
    id: 'video.maxSeconds',
    value: 600,
    ...APP,
    note: 'The video service decides.',
  },
  { id: 'video.types', value: ['video/mp4'], ...LEXICONS },
  { id: 'posts.perHour', value: 2_500, ...LIMITS, note: '5,000 points an hour. Putting a record costs 2.' },
  { id: 'posts.perDay', value: 17_500, ...LIMITS, note: '35,000 points a day. Putting a record costs 2.' },
]
