import type { Rule } from '../rules/rule.ts'

const POSTS = { source: 'developers.facebook.com, Page feed', seen: '2026-11', confidence: 'reported' } as const
const PHOTOS = {
  source: 'developers.facebook.com, Photo specifications of Pages',
  seen: '2026-11',
  confidence: 'read',
} as const
const REELS = { source: 'developers.facebook.com, Reels Publishing API', seen: '2026-07', confidence: 'read' } as const
const MB = 1_000_000

/** Limits of pages. Videos are published as reels. */
export const rules: readonly Rule[] = [
  { id: 'text.max', value: 63_206, counting: 'characters', ...POSTS },
  { id: 'text.distinct', value: 1, ...POSTS, note: 'Facebook refuses the text of the post before (error 506).' },
  { id: 'link.max', value: 2_048, counting: 'characters', ...POSTS, note: 'Facebook states no limit.' },
  { id: 'link.card', value: 1, ...POSTS },
  { id: 'link.withMedia', value: 0, ...POSTS, effect: 'publishes the files without the link' },
  { id: 'comment.max', value: 8_000, counting: 'characters', ...POSTS },
  { id: 'thread.max', value: 1, ...POSTS },
  { id: 'media.max', value: 10, ...PHOTOS, confidence: 'vendor' },
  { id: 'media.mixed', value: 0, ...PHOTOS, confidence: 'vendor' },
  { id: 'image.max', value: 10, ...PHOTOS, confidence: 'vendor' },
  { id: 'image.maxBytes', value: 10 * MB, ...PHOTOS, note: 'Facebook recommends less than 1 MB for PNG.' },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/gif', 'image/bmp', 'image/tiff'],
    ...PHOTOS,
    note: 'The list of the page has no WebP.',
  },
  {
    id: 'gif.max',
    value: 0,
    ...PHOTOS,
    confidence: 'reported',
    effect: 'shows only the first frame',
    note: 'Use a video instead.',
  },
  { id: 'video.max', value: 1, ...REELS, note: 'A page can publish 30 reels in 24 hours.' },
  { id: 'video.minSeconds', value: 3, ...REELS },
  { id: 'video.maxSeconds', value: 90, ...REELS },
  { id: 'video.minWidth', value: 540, ...REELS },
  { id: 'video.minHeight', value: 960, ...REELS },
  { id: 'video.minRatio', value: 0.56, ...REELS, note: 'Reels are 9:16.' },
  { id: 'video.maxRatio', value: 0.57, ...REELS, note: 'Reels are 9:16.' },
  { id: 'video.minFps', value: 24, ...REELS },
  { id: 'video.maxFps', value: 60, ...REELS },
  {
    id: 'video.types',
    value: ['video/mp4', 'video/quicktime'],
    ...REELS,
    confidence: 'vendor',
    note: 'Facebook recommends MP4 and lists no other type.',
  },
  { id: 'video.codecs', value: ['h264', 'hevc', 'vp9', 'av1'], ...REELS },
]
