import type { Rule } from '../rules/rule.ts'

const API = { source: 'discord/discord-api-spec, OpenAPI description', seen: '2026-11', confidence: 'read' } as const
const FILES = { source: 'discord/discord-api-docs, Uploading Files', seen: '2026-11', confidence: 'read' } as const
const POLLS = { source: 'discord-api-docs, Poll Resource', seen: '2026-11', confidence: 'read' } as const
const BUCKET = { source: 'discord-api-docs, issues on rate limits', seen: '2026-11', confidence: 'reported' } as const
const BOOST = 'Servers with boosts take 50 or 100 MiB.'
const MIB = 1_048_576

export const rules: readonly Rule[] = [
  {
    id: 'text.max',
    value: 2_000,
    counting: 'characters',
    ...API,
    note: 'The limit of webhooks. Discord’s documentation states it for bots too.',
  },
  { id: 'comment.max', value: 2_000, counting: 'characters', ...API },
  {
    id: 'link.inText',
    value: 1,
    ...API,
    note: 'A message has no field for a link. Discord shows a preview of links by itself.',
  },
  { id: 'alt.max', value: 1_024, counting: 'characters', ...API },
  { id: 'thread.max', value: 25, ...API, note: 'Parts are replies. Webhooks cannot reply.' },
  { id: 'media.max', value: 10, ...API },
  { id: 'media.mixed', value: 1, ...API },
  { id: 'image.max', value: 10, ...API },
  { id: 'image.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'],
    ...FILES,
    effect: 'offers the file for download',
  },
  { id: 'gif.max', value: 10, ...API },
  { id: 'gif.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  { id: 'video.max', value: 10, ...API },
  { id: 'video.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  {
    id: 'video.types',
    value: ['video/mp4', 'video/quicktime', 'video/webm'],
    ...FILES,
    confidence: 'reported',
    effect: 'offers the file for download',
    note: 'Shown with a player.',
  },
  { id: 'document.max', value: 10, ...API },
  { id: 'document.mixed', value: 1, ...API },
  { id: 'document.maxBytes', value: 10 * MIB, ...FILES, note: BOOST },
  { id: 'poll.maxOptions', value: 10, ...API },
  { id: 'poll.optionMax', value: 55, counting: 'characters', ...POLLS },
  { id: 'poll.questionMax', value: 300, counting: 'characters', ...POLLS },
  { id: 'poll.stepMinutes', value: 60, ...API, note: 'Discord counts hours.' },
  { id: 'poll.maxMinutes', value: 46_080, ...API, note: '32 days.' },
  {
    id: 'posts.perHour',
    value: 3_600,
    ...BUCKET,
    note: 'About 5 messages in 5 seconds. The headers have the numbers.',
  },
]
