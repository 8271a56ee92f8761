import type { Rule } from '../rules/rule.ts'

const POST = {
  source: 'developers.tiktok.com, Content Posting API: Direct Post',
  seen: '2026-09',
  confidence: 'read',
} as const
const PHOTOS = {
  source: 'developers.tiktok.com, Content Posting API: Photo Post',
  seen: '2026-09',
  confidence: 'read',
} as const
const MEDIA = { source: 'developers.tiktok.com, Media transfer guide', seen: '2026-09', confidence: 'read' } as const
const MB = 1_000_000
const GB = 1_000 * MB

export const rules: readonly Rule[] = [
  {
    id: 'text.max',
    value: 2_200,
    counting: 'utf16',
    ...POST,
    note: 'The caption of a video.',
  },
  { id: 'caption.maxWithImages', value: 4_000, counting: 'utf16', ...PHOTOS, note: 'The description of photos.' },
  { id: 'title.maxWithImages', value: 90, counting: 'utf16', ...PHOTOS, note: 'Only photos have a title.' },
  { id: 'thread.max', value: 1, ...POST },
  { id: 'media.required', value: 1, ...POST },
  { id: 'media.max', value: 35, ...PHOTOS },
  { id: 'media.mixed', value: 0, ...PHOTOS },
  { id: 'image.max', value: 35, ...PHOTOS },
  { id: 'image.maxBytes', value: 20 * MB, ...MEDIA },
  { id: 'image.types', value: ['image/jpeg', 'image/webp'], ...MEDIA },
  { id: 'gif.max', value: 0, ...MEDIA },
  { id: 'video.max', value: 1, ...POST },
  { id: 'video.maxBytes', value: 4 * GB, ...MEDIA },
  {
    id: 'video.minSeconds',
    value: 3,
    ...MEDIA,
    confidence: 'vendor',
    note: 'TikTok’s guide states no shortest video.',
  },
  { id: 'video.maxSeconds', value: 600, ...MEDIA, note: 'Each creator has an individual limit, up to this one.' },
  { id: 'video.minWidth', value: 360, ...MEDIA },
  { id: 'video.minHeight', value: 360, ...MEDIA },
  { id: 'video.minFps', value: 23, ...MEDIA },
  { id: 'video.maxFps', value: 60, ...MEDIA },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime', 'video/webm'], ...MEDIA },
  { id: 'video.codecs', value: ['h264', 'hevc', 'vp8', 'vp9'], ...MEDIA },
  { id: 'document.max', value: 0, ...POST },
  {
    id: 'posts.perDay',
    value: 15,
    source: 'reported by users of the Content Posting API',
    seen: '2026-11',
    confidence: 'reported',
    note: 'TikTok publishes no number, and it differs between creators.',
  },
]
