import { escapeText } from '../../src/tools/html.ts'

/** The entities of Mastodon 4.3 as its API shows them (docs.joinmastodon.org/entities, 2026-11). */

export interface Person {
  readonly id: string
  readonly username: string
  /** Set by tests. */
  followers?: number
}

export interface Media {
  readonly id: string
  readonly person: string
  readonly type: string
  description: string | null
  /** How often the server still says that it processes the file. */
  pending: number
  /** Of a picture, if its header states it. */
  readonly size?: { readonly width: number; readonly height: number } | null
  /** The status that the file is attached to. */
  status: string | null
}

export interface Status {
  readonly id: string
  readonly person: string
  text: string
  spoiler: string
  isSensitive: boolean
  readonly visibility: string
  language: string | null
  media: readonly string[]
  /** The id of its poll. */
  poll?: string | null
  readonly replyTo: string | null
  readonly at: number
  editedAt: number | null
  /** Set by tests. */
  likes?: number
}

interface Shown {
  readonly base: string
  readonly people: Readonly<Record<string, Person>>
  readonly media: Readonly<Record<string, Media>>
  readonly statuses: readonly Status[]
}

export function statusView({ base, media, people, statuses }: Shown, status: Status) {
  const { at, editedAt, id, isSensitive, language, person, replyTo, spoiler, text, visibility } = status
  const author = people[person]
  const url = `${base}/@${author?.username}/${id}`
  return {
    id,
    uri: `${base}/users/${author?.username}/statuses/${id}`,
    url,
    created_at: new Date(at).toISOString(),
    edited_at: editedAt === null ? null : new Date(editedAt).toISOString(),
    in_reply_to_id: replyTo,
    in_reply_to_account_id: statuses.find((one) => one.id === replyTo)?.person ?? null,
    content: text === '' ? '' : `<p>${htmlOf(text)}</p>`,
    spoiler_text: spoiler,
    sensitive: isSensitive,
    visibility,
    language,
    favourites_count: status.likes ?? 0,
    reblogs_count: 0,
    replies_count: statuses.filter((one) => one.replyTo === id).length,
    favourited: false,
    reblogged: false,
    muted: false,
    bookmarked: false,
    pinned: false,
    reblog: null,
    application: { name: 'Crier', website: null },
    account: accountView(base, author),
    media_attachments: status.media.flatMap((file) => {
      const found = media[file]
      return found === undefined ? [] : [mediaView(base, found)]
    }),
    mentions: [],
    tags: [],
    emojis: [],
    card: null,
  }
}

function htmlOf(text: string): string {
  return escapeText(text).replaceAll('\n', '<br>')
}

export function mediaView(base: string, { description, id, pending, size, type }: Media) {
  const url = pending > 0 ? null : `${base}/media/${id}`
  return {
    id,
    // An animated image becomes a video without a sound (docs.joinmastodon.org/entities/MediaAttachment, 2026-11).
    type: type === 'image/gif' ? 'gifv' : type.split('/')[0],
    url,
    preview_url: url,
    remote_url: null,
    preview_remote_url: null,
    text_url: null,
    meta: size ? { original: { ...size, size: `${size.width}x${size.height}`, aspect: size.width / size.height } } : {},
    description,
    blurhash: null,
  }
}

export function accountView(base: string, person: Person | undefined, statusCount = 0) {
  const { id = '', username = '' } = person ?? {}
  const missing = `${base}/avatars/missing.png`
  return {
    id,
    username,
    acct: username,
    url: `${base}/@${username}`,
    uri: `${base}/users/${username}`,
    display_name: '',
    note: '',
    avatar: missing,
    avatar_static: missing,
    header: missing,
    header_static: missing,
    locked: false,
    bot: false,
    group: false,
    discoverable: true,
    created_at: '2026-01-01T00:00:00.000Z',
    last_status_at: null,
    statuses_count: statusCount,
    followers_count: person?.followers ?? 0,
    following_count: 0,
    fields: [],
    emojis: [],
    roles: [],
  }
}
