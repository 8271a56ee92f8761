import type { Rule } from '../rules/rule.ts'

const VIDEOS = {
  source: 'developers.google.com/youtube/v3/docs/videos',
  seen: '2026-11',
  confidence: 'read',
} as const
const LONG = {
  source: 'support.google.com, Upload videos longer than 15 minutes',
  seen: '2026-11',
  confidence: 'vendor',
} as const
const UPLOADS = {
  source: 'YouTube Data API v3, discovery document',
  seen: '2026-11',
  confidence: 'read',
} as const
const THUMBNAILS = {
  source: 'developers.google.com/youtube/v3/docs/thumbnails/set',
  seen: '2026-11',
  confidence: 'read',
} as const
const GIB = 1_073_741_824

const WITHOUT_THUMBNAIL = 'publishes the video without the thumbnail'

export const rules: readonly Rule[] = [
  { id: 'text.max', value: 5_000, counting: 'bytes', ...VIDEOS, note: 'The description, without < and >.' },
  { id: 'title.max', value: 100, counting: 'characters', ...VIDEOS, note: 'Without < and >.' },
  { id: 'title.required', value: 1, ...VIDEOS },
  {
    id: 'tags.max',
    value: 500,
    counting: 'characters',
    ...VIDEOS,
    note: 'With a comma between tags, and quotes around tags with a space.',
  },
  {
    id: 'comment.max',
    value: 10_000,
    counting: 'characters',
    source: 'developers.google.com/youtube/v3/docs/comments',
    seen: '2026-11',
    confidence: 'reported',
  },
  { id: 'thread.max', value: 1, ...VIDEOS },
  { id: 'video.required', value: 1, ...VIDEOS },
  { id: 'media.max', value: 2, ...VIDEOS, note: 'A video, and an image that becomes its thumbnail.' },
  { id: 'media.mixed', value: 1, ...THUMBNAILS },
  { id: 'image.max', value: 1, ...THUMBNAILS, note: 'The thumbnail. It needs a verified phone number.' },
  {
    id: 'image.maxBytes',
    value: 52_428_800,
    ...THUMBNAILS,
    effect: WITHOUT_THUMBNAIL,
    note: 'Older copies of the page say 2 MB.',
  },
  { id: 'image.types', value: ['image/jpeg', 'image/png'], ...THUMBNAILS, effect: WITHOUT_THUMBNAIL },
  { id: 'gif.max', value: 0, ...THUMBNAILS },
  { id: 'video.max', value: 1, ...VIDEOS },
  { id: 'video.maxBytes', value: 256 * GIB, ...UPLOADS },
  { id: 'video.maxSeconds', value: 43_200, ...LONG, note: '15 minutes until the channel has verified a phone number.' },
  {
    id: 'video.types',
    value: [
      'video/mp4',
      'video/quicktime',
      'video/webm',
      'video/matroska',
      'video/x-matroska',
      'video/mpeg',
      'video/x-msvideo',
    ],
    source: 'support.google.com, Supported YouTube file formats',
    seen: '2026-11',
    confidence: 'vendor',
  },
  { id: 'document.max', value: 0, ...VIDEOS },
  {
    id: 'app.uploadsPerDay',
    value: 100,
    source: 'developers.google.com, Determine quota cost',
    seen: '2026-11',
    confidence: 'read',
    note: 'Uploads of all channels of this server together, until midnight Pacific Time. Each channel has another limit.',
  },
]
