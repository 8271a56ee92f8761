import type { Rule } from '../rules/rule.ts'

const COUNTING = { source: 'docs.x.com, Counting characters', seen: '2026-10', confidence: 'read' } as const
const MEDIA = { source: 'docs.x.com, Media best practices', seen: '2026-10', confidence: 'read' } as const
const API = { source: 'OpenAPI description of the X API v2', seen: '2026-03', confidence: 'read' } as const
const RATES = { source: 'docs.x.com, Rate limits', seen: '2026-10', confidence: 'read' } as const
const MB = 1_000_000
const MIB = 1_048_576

export const rules: readonly Rule[] = [
  {
    id: 'text.max',
    value: 280,
    counting: 'x_weighted',
    ...COUNTING,
    note: 'Subscribers of X Premium have 25,000. The account’s subscription decides.',
  },
  {
    id: 'text.distinct',
    value: 1,
    ...API,
    confidence: 'reported',
    note: 'X refuses a repeated text. It does not say with how many posts it compares.',
  },
  { id: 'comment.max', value: 280, counting: 'x_weighted', ...COUNTING, note: 'A first comment is a reply.' },
  {
    id: 'link.inText',
    value: 1,
    ...API,
    note: 'A post has no field for a link. X shows a card of the link by itself.',
  },
  { id: 'link.shortened', value: 1, ...COUNTING, note: 'Shown as a link to t.co, which counts as 23 characters.' },
  { id: 'alt.max', value: 1_000, counting: 'characters', ...API },
  { id: 'thread.max', value: 25, ...API, note: 'X has no limit. Crier sends at most 25 parts.' },
  { id: 'media.max', value: 4, ...API },
  { id: 'media.mixed', value: 0, ...MEDIA, note: 'Four images, or one animated image, or one video.' },
  { id: 'image.max', value: 4, ...MEDIA },
  { id: 'image.maxBytes', value: 5 * MB, ...MEDIA },
  { id: 'image.types', value: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'], ...MEDIA },
  { id: 'gif.max', value: 1, ...MEDIA },
  { id: 'gif.maxBytes', value: 15 * MB, ...MEDIA },
  { id: 'video.max', value: 1, ...MEDIA },
  {
    id: 'video.maxBytes',
    value: 4_000 * MIB,
    ...API,
    note: 'X takes 8 GB, in at most 1,000 pieces. Crier sends pieces of 4 MiB.',
  },
  { id: 'video.minSeconds', value: 0.5, ...MEDIA },
  {
    id: 'video.maxSeconds',
    value: 1_200,
    ...MEDIA,
    note: 'Subscribers of X Premium have 125 minutes. The account’s subscription decides.',
  },
  { id: 'video.minWidth', value: 32, ...MEDIA },
  { id: 'video.minHeight', value: 32, ...MEDIA },
  { id: 'video.minRatio', value: 1 / 3, ...MEDIA },
  { id: 'video.maxRatio', value: 3, ...MEDIA },
  { id: 'video.maxFps', value: 60, ...MEDIA },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime'], ...API },
  { id: 'video.codecs', value: ['h264'], ...MEDIA, note: 'The page recommends it and names no other.' },
  { id: 'poll.minOptions', value: 2, ...API },
  { id: 'poll.maxOptions', value: 4, ...API },
  { id: 'poll.optionMax', value: 25, counting: 'characters', ...API },
  { id: 'poll.minMinutes', value: 5, ...API },
  { id: 'poll.maxMinutes', value: 10_080, ...API },
  { id: 'poll.withMedia', value: 0, ...API },
  { id: 'posts.perHour', value: 400, ...RATES, note: '100 posts of a user in 15 minutes.' },
  { id: 'app.postsPerDay', value: 10_000, ...RATES, note: 'All users of the app of this server together.' },
]
