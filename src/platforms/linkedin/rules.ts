import type { Rule } from '../rules/rule.ts'
import { DURATIONS } from './polls.ts'

/** The pages of the Posts, Images and Videos APIs could not be read in full, only what other vendors quote. */
const POSTS = { source: 'learn.microsoft.com, LinkedIn Posts API', seen: '2026-11', confidence: 'vendor' } as const
const IMAGES = {
  source: 'learn.microsoft.com, LinkedIn Images API, quoted by cdata.com and others',
  seen: '2026-11',
  confidence: 'vendor',
} as const
const MULTI = { source: 'learn.microsoft.com, LinkedIn MultiImage API', seen: '2026-11', confidence: 'read' } as const
const VIDEOS = {
  source: 'learn.microsoft.com, LinkedIn Videos API, quoted by ayrshare.com and others',
  seen: '2026-11',
  confidence: 'vendor',
} as const
const DOCUMENTS = {
  source: 'learn.microsoft.com, LinkedIn Documents API',
  seen: '2024-11',
  confidence: 'read',
} as const
const POLLS = { source: 'learn.microsoft.com, LinkedIn Poll API', seen: '2026-11', confidence: 'vendor' } as const
const MB = 1_000_000

export const rules: readonly Rule[] = [
  {
    id: 'text.max',
    value: 3_000,
    counting: 'utf16',
    source: 'documents of other publishing services',
    seen: '2026-11',
    confidence: 'vendor',
    note: 'LinkedIn’s API documentation states no number.',
  },
  {
    id: 'text.distinct',
    value: 1,
    ...POSTS,
    confidence: 'reported',
    note: 'LinkedIn refuses a repeated text (DUPLICATE_POST). It does not say with how many posts it compares.',
  },
  { id: 'link.card', value: 1, ...POSTS, note: 'Only without files.' },
  { id: 'link.inText', value: 1, ...POSTS, note: 'Beside files.' },
  {
    id: 'comment.max',
    value: 1_250,
    counting: 'utf16',
    source: 'linkedin.com, Help',
    seen: '2026-11',
    confidence: 'reported',
  },
  {
    id: 'link.max',
    value: 2_048,
    counting: 'utf16',
    source: 'documents of other publishing services',
    seen: '2026-11',
    confidence: 'vendor',
    note: 'The link of a card, in a post without files.',
  },
  { id: 'alt.max', value: 4_086, counting: 'utf16', ...IMAGES },
  { id: 'thread.max', value: 1, ...POSTS },
  { id: 'media.max', value: 20, ...MULTI },
  { id: 'media.mixed', value: 0, ...POSTS },
  { id: 'image.max', value: 20, ...MULTI },
  { id: 'image.min', value: 2, ...MULTI },
  { id: 'image.maxPixels', value: 36_152_319, ...IMAGES, note: 'Fewer than 36,152,320.' },
  { id: 'image.types', value: ['image/jpeg', 'image/png', 'image/gif'], ...IMAGES },
  { id: 'gif.max', value: 1, ...IMAGES, note: 'Up to 250 frames.' },
  { id: 'video.max', value: 1, ...VIDEOS },
  { id: 'video.maxBytes', value: 500 * MB, ...VIDEOS },
  { id: 'video.minBytes', value: 75_000, ...VIDEOS },
  { id: 'video.minSeconds', value: 3, ...VIDEOS },
  { id: 'video.maxSeconds', value: 1_800, ...VIDEOS },
  { id: 'video.types', value: ['video/mp4'], ...VIDEOS },
  { id: 'document.max', value: 1, ...DOCUMENTS },
  { id: 'document.maxBytes', value: 100 * MB, ...DOCUMENTS },
  { id: 'document.maxPages', value: 300, ...DOCUMENTS },
  {
    id: 'document.types',
    value: [
      'application/pdf',
      'application/msword',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.ms-powerpoint',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    ],
    ...DOCUMENTS,
  },
  { id: 'poll.minOptions', value: 2, ...POLLS },
  { id: 'poll.maxOptions', value: 4, ...POLLS },
  { id: 'poll.optionMax', value: 30, counting: 'utf16', ...POLLS },
  { id: 'poll.questionMax', value: 140, counting: 'utf16', ...POLLS },
  { id: 'poll.durations', value: Object.keys(DURATIONS), ...POLLS, note: '1, 3, 7 or 14 days.' },
  { id: 'poll.withMedia', value: 0, ...POLLS },
  {
    id: 'posts.perDay',
    value: 150,
    source: 'documents of other publishing services',
    seen: '2026-11',
    confidence: 'vendor',
    note: 'For a member. LinkedIn shows the limits of an app in its portal only. They reset at midnight UTC.',
  },
]
