import type { Rule } from '../rules/rule.ts'

const API = { source: 'reddit.com/dev/api, POST /api/submit', seen: '2026-11', confidence: 'vendor' } as const
/** The last public source of Reddit, of 2017. */
const CODE = { source: 'reddit-archive/reddit, validator.py and link.py', seen: '2026-11', confidence: 'read' } as const
const HELP = {
  source: 'support.reddithelp.com, Images, GIFs and videos',
  seen: '2026-11',
  confidence: 'vendor',
} as const
const REPORTED = { source: 'r/redditdev', seen: '2026-11', confidence: 'reported' } as const
const SUBREDDIT = 'The subreddit can ask for less, or more. Its requirements are checked before publishing.'
const MB = 1_000_000
const GB = 1_000 * MB

export const rules: readonly Rule[] = [
  { id: 'title.required', value: 1, ...API },
  { id: 'title.max', value: 300, counting: 'characters', ...CODE, note: SUBREDDIT },
  { id: 'text.max', value: 40_000, counting: 'characters', ...CODE, note: SUBREDDIT },
  { id: 'link.card', value: 1, ...API },
  {
    id: 'link.withMedia',
    value: 0,
    ...API,
    effect: 'publishes the files without the link',
    note: 'A post is a link, or files, or a text.',
  },
  { id: 'comment.max', value: 10_000, counting: 'characters', ...CODE },
  {
    id: 'thread.max',
    value: 25,
    ...API,
    note: 'Parts are comments. Reddit has no limit; Crier sends at most 25 parts.',
  },
  { id: 'thread.textMax', value: 10_000, counting: 'characters', ...CODE },
  { id: 'thread.mediaMax', value: 0, ...API, note: 'Few subreddits take images in comments. Crier sends none.' },
  { id: 'media.max', value: 20, ...HELP },
  { id: 'media.mixed', value: 0, ...HELP },
  { id: 'image.max', value: 20, ...HELP },
  { id: 'image.maxBytes', value: 20 * MB, ...HELP },
  { id: 'image.types', value: ['image/jpeg', 'image/png', 'image/gif'], ...HELP },
  { id: 'gif.max', value: 20, ...HELP },
  { id: 'gif.mixed', value: 1, ...REPORTED, note: 'Galleries show GIFs beside images.' },
  { id: 'gif.maxBytes', value: 100 * MB, ...HELP },
  { id: 'video.max', value: 1, ...HELP },
  { id: 'video.maxBytes', value: 1 * GB, ...HELP },
  { id: 'video.minSeconds', value: 2, ...HELP },
  { id: 'video.maxSeconds', value: 900, ...HELP },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime'], ...HELP },
  {
    id: 'alt.max',
    value: 180,
    counting: 'characters',
    ...REPORTED,
    note: 'Shown as the caption of an image in a gallery.',
  },
]
