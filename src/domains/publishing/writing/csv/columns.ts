import {
  THREAD_SEPARATOR,
  readBoolean,
  readInteger,
  readJson,
  readList,
  readObject,
  readTexts,
  writeList,
  type Cell,
} from './cells.ts'
import type { SheetMedia, SheetPost } from './sheet-post.ts'
import { readTime, type DateOrder } from './times.ts'

/** A column of a sheet, for one field of a post. */
export interface Column {
  readonly name: Exclude<keyof SheetPost, 'targets'>
  /** Other names of it, in lower case without spaces. */
  readonly aliases: readonly string[]
  /** What a cell contains, for the documentation. */
  readonly about: string
  /** @param order of day and month in dates with slashes */
  readonly read: (text: string, order?: DateOrder) => Cell<unknown>
  readonly write: (post: SheetPost) => string
}

/** The column of the accounts. Its values and those of `override.<account>` become `targets`. */
export const ACCOUNTS = 'accounts'
const ACCOUNT_ALIASES = ['account', 'accountids', 'targets', 'channels', 'profiles']

/** Columns with the JSON of what one account publishes differently: `override.<account>`. */
export const OVERRIDE = 'override.'

const text = (value: string): Cell<string> => ({ value })
const trimmed = (value: string): Cell<string> => ({ value: value.trim() })

export const COLUMNS: readonly Column[] = [
  {
    name: 'content',
    aliases: ['text', 'message', 'caption', 'post', 'body'],
    about: 'The text',
    read: text,
    write: ({ content = '' }) => content,
  },
  { name: 'title', aliases: ['headline'], about: 'The title', read: text, write: ({ title = '' }) => title },
  { name: 'link', aliases: ['url'], about: 'A link beside the text', read: trimmed, write: ({ link = '' }) => link },
  {
    name: 'media',
    aliases: ['assets', 'assetids', 'mediaids', 'images', 'files'],
    about:
      'Ids of assets or public URLs, separated by commas, or a JSON list of objects with assetId or url, and altText',
    read: readMedia,
    write: ({ media = [] }) => {
      const ids = media.filter((item) => typeof item === 'string')
      return ids.length === media.length ? writeList(ids) : JSON.stringify(media)
    },
  },
  {
    name: 'thread',
    aliases: ['threadparts', 'replies'],
    about: 'The parts after the first one: texts with a line of --- between them, or a JSON list',
    read: readTexts,
    write: ({ thread = [] }) => writeThread(thread),
  },
  {
    name: 'firstComment',
    aliases: ['comment'],
    about: 'Published as a comment below the post. With this column, an empty cell means none',
    read: text,
    write: ({ firstComment }) => firstComment ?? '',
  },
  {
    name: 'tags',
    aliases: ['hashtags'],
    about: 'Tags, separated by commas',
    read: readList,
    write: ({ tags = [] }) => listOf(tags),
  },
  {
    name: 'labels',
    aliases: ['label'],
    about: 'Labels, separated by commas',
    read: readList,
    write: ({ labels = [] }) => listOf(labels),
  },
  {
    name: 'scheduledFor',
    aliases: ['scheduledat', 'schedule', 'date', 'datetime', 'time', 'publishat', 'when'],
    about: 'When to publish, such as 2026-11-30 09:00',
    read: readTime,
    write: ({ scheduledFor = '' }) => scheduledFor,
  },
  {
    name: 'timezone',
    aliases: ['tz', 'zone'],
    about: 'IANA time zone of scheduledFor, such as Europe/Berlin',
    read: trimmed,
    write: ({ timezone = '' }) => timezone,
  },
  {
    name: 'lateMinutes',
    aliases: ['latelimit'],
    about: 'How late the post can still go out, in minutes',
    read: readInteger,
    write: ({ lateMinutes }) => lateMinutes?.toString() ?? '',
  },
  {
    name: 'queue',
    aliases: ['slot'],
    about: 'The next free slot of the queue: "next", or "label:" and a label',
    read: readQueue,
    write: ({ queue }) => (queue === undefined ? '' : queue.label === undefined ? 'next' : `label:${queue.label}`),
  },
  {
    name: 'recurrence',
    aliases: ['rrule', 'repeat'],
    about: 'An RRULE, such as FREQ=WEEKLY;BYDAY=MO, or JSON with rrule, exdates and rdates',
    read: (cell) => (cell.trimStart().startsWith('{') ? readObject(cell) : { value: { rrule: ruleOf(cell) } }),
    write: ({ recurrence }) => writeRecurrence(recurrence),
  },
  {
    name: 'publishNow',
    aliases: [],
    about: 'true to publish at once',
    read: readBoolean,
    write: ({ publishNow }) => publishNow?.toString() ?? '',
  },
  {
    name: 'draft',
    aliases: [],
    about: 'true to save without publishing',
    read: readBoolean,
    write: ({ draft }) => draft?.toString() ?? '',
  },
]

/** A name of a column, compared without case, spaces, hyphens and underscores. */
export function columnKey(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '')
}

/** The column of each name and alias, by key. The column of the accounts is `accounts`. */
export const COLUMN_OF: ReadonlyMap<string, Column | typeof ACCOUNTS> = new Map<string, Column | typeof ACCOUNTS>([
  ...COLUMNS.flatMap((column) => [column.name, ...column.aliases].map((name) => [columnKey(name), column] as const)),
  ...[ACCOUNTS, ...ACCOUNT_ALIASES].map((name) => [columnKey(name), ACCOUNTS] as const),
])

/** The names of the columns, for errors and the documentation. */
export const COLUMN_NAMES: readonly string[] = [...COLUMNS.map(({ name }) => name), ACCOUNTS, `${OVERRIDE}<account>`]

/** The columns as a Markdown list, for the documentation. */
export function describeColumns(): string {
  const accounts =
    'Accounts to publish at, separated by commas: ids, or platform and handle, such as mastodon:@acme@example.social'
  const override =
    'What this account publishes differently, as JSON: content, title, link, media, thread, firstComment, tags, options'
  const rows = [...COLUMNS, { name: ACCOUNTS, about: accounts }, { name: `${OVERRIDE}<account>`, about: override }]
  return rows.map(({ name, about }) => `- \`${name}\`: ${about}`).join('\n')
}

/**
 * The column of a field of a post, for errors of createPost.
 * @param path JSON pointer into the body of createPost, such as `/targets/0/override/content`
 */
export function columnOfPath(path: string, post: SheetPost): string | null {
  const [, field = '', index = '', part] = path.split('/')
  if (field !== 'targets') return COLUMNS.find(({ name }) => name === field)?.name ?? null
  const target = post.targets?.[Number(index)]
  return part === 'override' && target !== undefined ? `${OVERRIDE}${target.accountId}` : ACCOUNTS
}

function readMedia(cell: string): Cell<SheetMedia[]> {
  if (!cell.trimStart().startsWith('[')) {
    const list = readList(cell)
    return 'value' in list ? { value: list.value.map(byUrl) } : list
  }
  const json = readJson(cell)
  if ('problem' in json) return json
  const isMedia = (item: unknown) =>
    typeof item === 'string' || (item !== null && typeof item === 'object' && ('assetId' in item || 'url' in item))
  if (Array.isArray(json.value) && json.value.every(isMedia)) return { value: json.value.map(byUrl) }
  return { problem: 'must be a list of ids or URLs, or of objects with assetId or url' }
}

function byUrl(item: SheetMedia): SheetMedia {
  return typeof item === 'string' && /^https?:\/\//i.test(item) ? { url: item } : item
}

function listOf(items: readonly string[]): string {
  return items.length === 0 ? '' : writeList(items)
}

function writeThread(thread: readonly unknown[]): string {
  if (thread.length === 0) return ''
  const texts = thread.map((part) => (isTextOnly(part) ? part.content : undefined))
  const joined = texts.join(THREAD_SEPARATOR)
  const isPlain = texts.every((content) => content !== undefined) && !isEqualToNothing(joined)
  const read = isPlain ? readTexts(joined) : undefined
  return read !== undefined && 'value' in read && JSON.stringify(read.value) === JSON.stringify(thread)
    ? joined
    : JSON.stringify(thread)
}

/** Whether a cell with this text would be read as an empty one. */
function isEqualToNothing(cell: string): boolean {
  return cell.trim() === ''
}

function isTextOnly(part: unknown): part is { content: string } {
  if (part === null || typeof part !== 'object' || !('content' in part)) return false
  return typeof part.content === 'string' && Object.keys(part).length === 1
}

function readQueue(cell: string): Cell<{ label?: string }> {
  const word = cell.trim()
  if (word.toLowerCase() === 'next') return { value: {} }
  const label = /^label:(.+)$/is.exec(word)?.[1]?.trim()
  return label === undefined ? { problem: 'must be "next", or "label:" and a label' } : { value: { label } }
}

/** Calendars write a semicolon after the last part of a rule, too. */
function ruleOf(cell: string): string {
  return cell.trim().replace(/[;\s]+$/, '')
}

function writeRecurrence(recurrence: SheetPost['recurrence']): string {
  if (recurrence === undefined) return ''
  const { rrule } = recurrence
  const isPlain = typeof rrule === 'string' && Object.keys(recurrence).length === 1 && ruleOf(rrule) === rrule
  return isPlain && rrule !== '' && !rrule.startsWith('{') ? rrule : JSON.stringify(recurrence)
}
