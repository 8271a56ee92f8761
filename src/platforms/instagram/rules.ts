import type { Rule } from '../rules/rule.ts'

const MEDIA = { source: 'developers.facebook.com, IG User Media, v25.0', seen: '2026-11', confidence: 'read' } as const
const COMMENTS = {
  source: 'developers.facebook.com, IG Media Comments',
  seen: '2026-11',
  confidence: 'reported',
} as const
const MB = 1_000_000

/** Limits of business and creator accounts. A single video is a reel. */
export const rules: readonly Rule[] = [
  { id: 'text.max', value: 2_200, counting: 'characters', ...MEDIA },
  { id: 'hashtags.max', value: 30, ...MEDIA, note: 'Other vendors report that Instagram counts only the first five.' },
  { id: 'mentions.max', value: 20, ...MEDIA },
  { id: 'alt.max', value: 1_000, counting: 'characters', ...MEDIA, note: 'Reels and stories take no alt texts.' },
  { id: 'comment.max', value: 300, counting: 'characters', ...COMMENTS },
  { id: 'thread.max', value: 1, ...MEDIA },
  { id: 'media.required', value: 1, ...MEDIA },
  { id: 'media.max', value: 10, ...MEDIA },
  { id: 'media.mixed', value: 1, ...MEDIA },
  { id: 'image.max', value: 10, ...MEDIA },
  {
    id: 'image.maxBytes',
    value: 8 * 1_048_576,
    ...MEDIA,
    note: 'The reference says 8 MB, the page of error codes 8 MiB.',
  },
  { id: 'image.minRatio', value: 0.8, ...MEDIA, note: '4:5. Stories take other shapes.' },
  { id: 'image.maxRatio', value: 1.91, ...MEDIA },
  { id: 'image.types', value: ['image/jpeg'], ...MEDIA },
  { id: 'gif.max', value: 0, ...MEDIA },
  { id: 'video.max', value: 10, ...MEDIA },
  { id: 'video.maxBytes', value: 300 * MB, ...MEDIA },
  { id: 'video.minSeconds', value: 3, ...MEDIA },
  { id: 'video.maxSeconds', value: 900, ...MEDIA, note: 'Stories take 60 seconds.' },
  { id: 'video.minRatio', value: 0.01, ...MEDIA, note: 'Instagram recommends 9:16.' },
  { id: 'video.maxRatio', value: 10, ...MEDIA },
  { id: 'video.minFps', value: 23, ...MEDIA },
  { id: 'video.maxFps', value: 60, ...MEDIA },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime'], ...MEDIA },
  { id: 'video.codecs', value: ['h264', 'hevc'], ...MEDIA },
  {
    id: 'posts.perDay',
    value: 50,
    source: 'developers.facebook.com, IG User Media Publish',
    seen: '2025-01',
    confidence: 'read',
    note: 'The guide says 100. Instagram reports the number of the account.',
  },
]
