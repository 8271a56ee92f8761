import type { FakeAsset, FakeStorage } from './storage.ts'

/** A subreddit of the sandbox. */
export interface FakeSubreddit {
  readonly name: string
  readonly type: 'public' | 'private' | 'user'
  readonly takes: readonly FakeKind[]
  readonly flairs: readonly { readonly id: string; readonly text: string }[]
  readonly requirements: Readonly<Record<string, unknown>>
}

export type FakeKind = 'self' | 'link' | 'image' | 'video' | 'gallery'
/** Code, message and field of an error of a form. */
export type FormError = readonly [code: string, message: string, field: string]

const ALL: readonly FakeKind[] = ['self', 'link', 'image', 'video', 'gallery']
export const NEWS_FLAIR = '7f6a52de-0000-11ef-9c3a-5e2d1a4b7c90'

/** Subreddits of different rules, for trying them out. */
export const SUBREDDITS: readonly FakeSubreddit[] = [
  { name: 'sandbox', type: 'public', takes: ALL, flairs: [], requirements: {} },
  {
    name: 'flaired',
    type: 'public',
    takes: ALL,
    flairs: [{ id: NEWS_FLAIR, text: 'News' }],
    requirements: { is_flair_required: true, title_text_min_length: 10 },
  },
  {
    name: 'linksonly',
    type: 'public',
    takes: ['link'],
    flairs: [],
    requirements: {
      body_restriction_policy: 'notAllowed',
      link_restriction_policy: 'blacklist',
      domain_blacklist: ['blocked.example'],
    },
  },
  {
    name: 'textsonly',
    type: 'public',
    takes: ['self'],
    flairs: [],
    requirements: { body_restriction_policy: 'required' },
  },
  { name: 'closed', type: 'private', takes: ALL, flairs: [], requirements: {} },
]

/** The fields of a form that submits, as the fake reads them. */
export interface SubmitFields {
  readonly kind: FakeKind
  readonly title: string
  readonly text: string
  readonly url: string
  readonly flairId: string | undefined
  readonly poster: string
  readonly items: readonly { readonly media_id: string; readonly caption?: string }[]
}

/** The first rule that a submission breaks, and the files of one that breaks none. */
export function judged(
  fields: SubmitFields,
  { flairs, name, requirements, takes }: FakeSubreddit,
  storage: FakeStorage,
  owner: string,
): { error: FormError } | { files: readonly FakeAsset[] } {
  const { flairId, kind, text, title } = fields
  if (title === '') return { error: ['NO_TEXT', 'we need something here', 'title'] }
  if (Array.from(title).length > 300) return { error: ['TOO_LONG', 'this is too long (max: 300)', 'title'] }
  if (Array.from(text).length > 40_000) return { error: ['TOO_LONG', 'this is too long (max: 40000)', 'text'] }
  if (!takes.includes(kind)) return { error: refusalOfKind(kind, name) }
  if (flairId !== undefined && !flairs.some(({ id }) => id === flairId)) {
    return { error: ['BAD_FLAIR_TEMPLATE_ID', 'that flair does not exist', 'flair'] }
  }
  if (requirements['is_flair_required'] === true && flairId === undefined) {
    return { error: ['SUBMIT_VALIDATION_FLAIR_REQUIRED', 'Your post must contain post flair.', 'flair'] }
  }
  if (Array.from(title).length < Number(requirements['title_text_min_length'] ?? 0)) {
    return { error: ['SUBMIT_VALIDATION_MIN_LENGTH', 'this field must be longer', 'title'] }
  }
  if (kind === 'self') {
    return requirements['body_restriction_policy'] === 'required' && text === ''
      ? { error: ['SUBMIT_VALIDATION_BODY_REQUIRED', 'Your post must contain a body.', 'text'] }
      : { files: [] }
  }
  return kind === 'link' ? judgedLink(fields, requirements) : judgedFiles(fields, storage, owner)
}

function judgedLink({ url }: SubmitFields, requirements: FakeSubreddit['requirements']) {
  const host = URL.parse(url)?.hostname
  if (host === undefined || !/^https?:/.test(url)) {
    return { error: ['BAD_URL', 'you should check that url', 'url'] as FormError }
  }
  const blocked = (requirements['domain_blacklist'] ?? []) as readonly string[]
  return blocked.includes(host)
    ? { error: ['SUBMIT_VALIDATION_DOMAIN_BLACKLIST', 'this domain is not allowed', 'url'] as FormError }
    : { files: [] }
}

function judgedFiles({ items, kind, poster, url }: SubmitFields, storage: FakeStorage, owner: string) {
  const isOf = (asset: FakeAsset | undefined, type: string) => asset?.type.startsWith(type) === true
  if (kind === 'gallery') {
    const files = items.map(({ media_id: id }) => storage.find(id, owner))
    if (files.length < 2 || files.length > 20) {
      return { error: ['INVALID_OPTION', 'a gallery has 2 to 20 images', 'items'] as FormError }
    }
    if (!files.every((file) => isOf(file, 'image/'))) {
      return { error: ['INVALID_MEDIA', 'an image of the gallery does not exist', 'items'] as FormError }
    }
    if (items.some(({ caption = '' }) => Array.from(caption).length > 180)) {
      return { error: ['TOO_LONG', 'this is too long (max: 180)', 'caption'] as FormError }
    }
    return { files: files as FakeAsset[] }
  }
  const file = storage.at(url, owner)
  if (!isOf(file, kind === 'video' ? 'video/' : 'image/')) {
    return { error: ['INVALID_MEDIA', 'the file does not exist', 'url'] as FormError }
  }
  if (kind === 'video' && !isOf(storage.at(poster, owner), 'image/')) {
    return { error: ['NO_URL', 'a url is required', 'video_poster_url'] as FormError }
  }
  return { files: [file!] }
}

function refusalOfKind(kind: FakeKind, subreddit: string): FormError {
  const codes: Readonly<Record<FakeKind, string>> = {
    self: 'NO_SELFS',
    link: 'NO_LINKS',
    image: 'NO_IMAGES',
    gallery: 'NO_IMAGES',
    video: 'NO_VIDEOS',
  }
  return [codes[kind], `r/${subreddit} does not allow ${kind} posts`, 'sr']
}
