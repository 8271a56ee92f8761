import type { Rule } from '../rules/rule.ts'

const MESSAGE = { source: 'docs.discord.com, Create Message', seen: '2026-11', confidence: 'read' } as const
const FILES = { source: 'docs.discord.com, Uploading Files', seen: '2026-11', confidence: 'read' } as const
const BUCKET = { source: 'discord-api-docs, issues on rate limits', seen: '2026-11', confidence: 'reported' } as const
const BOOST = 'Servers with boosts take 50 or 100 MiB.'
const MIB = 1_048_576

export const rules: readonly Rule[] = [
  { id: 'text.max', value: 2_000, counting: 'characters', ...MESSAGE },
  { id: 'comment.max', value: 2_000, counting: 'characters', ...MESSAGE },
  { id: 'alt.max', value: 1_024, counting: 'characters', ...MESSAGE },
  { id: 'thread.max', value: 25, ...MESSAGE, note: 'Parts are replies. Webhooks cannot reply.' },
  { id: 'media.max', value: 10, ...MESSAGE },
  { id: 'media.mixed', value: 1, ...MESSAGE },
  { id: 'image.max', value: 10, ...MESSAGE },
  { id: 'image.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'],
    ...FILES,
    effect: 'offers the file for download',
  },
  { id: 'gif.max', value: 10, ...MESSAGE },
  { id: 'gif.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  { id: 'video.max', value: 10, ...MESSAGE },
  { id: 'video.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  {
    id: 'video.types',
    value: ['video/mp4', 'video/quicktime', 'video/webm'],
    ...FILES,
    effect: 'offers the file for download',
    note: 'Shown with a player.',
  },
  { id: 'document.max', value: 10, ...MESSAGE },
  { id: 'document.mixed', value: 1, ...MESSAGE },
  { id: 'document.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  {
    id: 'posts.perHour',
    value: 3_600,
    ...BUCKET,
    note: 'About 5 messages in 5 seconds. The headers have the numbers.',
  },
]
