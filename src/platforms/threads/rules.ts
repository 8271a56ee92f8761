import type { Rule } from '../rules/rule.ts'

const OVERVIEW = {
  source: 'developers.facebook.com, Threads API overview',
  seen: '2025-12',
  confidence: 'read',
} as const
const POSTS = { source: 'developers.facebook.com, Threads posts', seen: '2026-04', confidence: 'read' } as const
const MEDIA = {
  source: 'developers.facebook.com, Threads posts, Media specifications',
  seen: '2026-04',
  confidence: 'read',
} as const
const ATTACHMENTS = {
  source: 'developers.facebook.com, Threads text attachments',
  seen: '2025-12',
  confidence: 'read',
} as const
const MB = 1_000_000

/** Limits of Threads. */
export const rules: readonly Rule[] = [
  { id: 'text.max', value: 500, counting: 'threads', ...POSTS },
  { id: 'link.card', value: 1, ...POSTS },
  { id: 'link.withMedia', value: 0, ...POSTS, effect: 'publishes the files without the link' },
  { id: 'comment.max', value: 500, counting: 'threads', ...POSTS, note: 'A first comment is a reply.' },
  {
    id: 'link.max',
    value: 2_048,
    counting: 'characters',
    ...POSTS,
    confidence: 'reported',
    note: 'A post with media shows no preview of a link.',
  },
  {
    id: 'links.max',
    value: 5,
    ...ATTACHMENTS,
    note: 'Since 2025-12-22. The same link counts once, also if it is that of the preview.',
  },
  { id: 'alt.max', value: 1_000, counting: 'characters', ...MEDIA, confidence: 'reported' },
  { id: 'thread.max', value: 25, ...POSTS, note: 'Threads has no limit. Crier sends at most 25 parts.' },
  { id: 'media.max', value: 20, ...POSTS },
  { id: 'media.mixed', value: 1, ...POSTS },
  { id: 'image.max', value: 20, ...POSTS },
  { id: 'image.maxBytes', value: 8 * MB, ...MEDIA },
  { id: 'image.minRatio', value: 0.1, ...MEDIA },
  { id: 'image.maxRatio', value: 10, ...MEDIA },
  { id: 'image.types', value: ['image/jpeg', 'image/png'], ...MEDIA },
  { id: 'gif.max', value: 0, ...MEDIA },
  { id: 'video.max', value: 20, ...POSTS },
  { id: 'video.maxBytes', value: 1_000 * MB, ...MEDIA },
  { id: 'video.maxSeconds', value: 300, ...MEDIA },
  { id: 'video.minRatio', value: 0.01, ...MEDIA, note: 'Threads recommends 9:16.' },
  { id: 'video.maxRatio', value: 10, ...MEDIA },
  { id: 'video.minFps', value: 23, ...MEDIA },
  { id: 'video.maxFps', value: 60, ...MEDIA },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime'], ...MEDIA },
  { id: 'video.codecs', value: ['h264', 'hevc'], ...MEDIA },
  { id: 'posts.perDay', value: 250, ...OVERVIEW, note: 'A carousel is one post.' },
  { id: 'replies.perDay', value: 1_000, ...OVERVIEW },
]
