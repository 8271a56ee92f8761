import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import type { AccountContext } from '../platform.ts'
import type { Publishing, PublishPart, Reconciled, RemotePost, StepResult } from '../publishing.ts'
import { call, subredditOf, TITLE, type Listing } from './call.ts'
import { lease, upload, type UploadState } from './media.ts'
import { checkRequirements } from './requirements.ts'

/**
 * Checks what the subreddit requires, uploads the files, and submits. Posts of images and videos appear a moment later,
 * under an id that only the list of the user's posts tells.
 */
interface State extends UploadState {
  readonly step: 'check' | 'lease' | 'upload' | 'submit' | 'appear' | 'comment'
  readonly polls?: number
}

interface Submitted {
  readonly json: { readonly data?: { readonly id?: string; readonly name?: string; readonly url?: string } }
}

interface Commented {
  readonly json: { readonly data: { readonly things: readonly { readonly data: Comment }[] } }
}

interface Post {
  readonly name: string
  readonly title: string
  readonly subreddit: string
  readonly selftext?: string
  readonly permalink: string
  readonly created_utc: number
  readonly score?: number
  readonly num_comments?: number
  readonly num_crossposts?: number
}

interface Comment {
  readonly name: string
  readonly parent_id: string
  readonly body: string
  readonly permalink?: string
  readonly created_utc: number
}

type Kind = 'self' | 'link' | 'image' | 'video' | 'gallery'

const POLL_MS = 3_000
/** Reddit takes minutes for a long video. */
const MAX_POLLS = 100
const LISTED = 50
/** Clock tolerance in milliseconds: Reddit's time of a call can be this much earlier than ours. */
const CLOCK_SKEW_MS = 120_000

/** Publishing to Reddit (reddit.com/dev/api, 2026-11). */
export const publishing: Publishing = {
  // Reddit has no idempotency key.
  repeatable: false,
  start: (part): State => {
    if (part.role !== 'post') {
      if (part.media.length > 0) throw refused('comment_media', 'Crier adds no media to comments at Reddit.')
      return { step: 'comment', assets: [] }
    }
    if (part.title === undefined || part.title.trim() === '')
      throw refused('NO_TITLE', 'A post at Reddit needs a title.')
    if (subredditOf(part.options['subreddit']) === '') throw refused('SUBREDDIT_REQUIRED', 'Choose a subreddit.')
    kindOf(part)
    return { step: 'check', assets: [] }
  },
  // Nothing is documented.
  preparation: { lifeMs: 3_600_000, texts: true },
  commits: ({ step }) => step === 'submit' || step === 'comment',
  step: async (context, part, before) => {
    const state = before as State
    switch (state.step) {
      case 'check':
        await checkRequirements(context, part)
        return { kind: 'next', state: { step: part.media.length > 0 ? 'lease' : 'submit', assets: [] } }
      case 'lease':
        return { kind: 'next', state: await lease(context, part, state) }
      case 'upload':
        return { kind: 'next', state: await upload(context, part, state) }
      case 'submit':
        return submit(context, part, state)
      case 'appear':
        return appear(context, part, state)
      default:
        return comment(context, part)
    }
  },
  reconcile: async (context, part): Promise<Reconciled> => {
    const post = part.role === 'post' ? await findPost(context, part) : await findComment(context, part)
    return post === undefined ? { kind: 'absent' } : { kind: 'published', post }
  },
  remove: async (context, { id }) => {
    // Reddit sends the same reply if the post or comment does not exist any more.
    await call(context, '/api/del', { method: 'POST', form: { id } })
  },
  edit: async (context, post, { text }) => {
    await call(context, '/api/editusertext', { method: 'POST', form: { api_type: 'json', thing_id: post.id, text } })
    return post
  },
  insights: async (context, { id }) => {
    const { data } = await call<Listing<Post>>(context, '/api/info', { query: { id } })
    const post = data.children[0]?.data
    if (post === undefined) throw new PlatformError('unsupported', TITLE, { code: 'not_found' })
    const { num_comments: comments, num_crossposts: shares, score: likes } = post
    return {
      ...(likes !== undefined && { likes }),
      ...(comments !== undefined && { comments }),
      ...(shares !== undefined && { shares }),
    }
  },
}

function kindOf({ link, media }: PublishPart): Kind {
  const kinds = new Set(media.map(({ kind }) => kind))
  if (kinds.has('document')) throw new PlatformError('unsupported', TITLE, { code: 'document', mayHaveHappened: false })
  if (kinds.has('video')) {
    if (media.length > 1) throw refused('mixed_media', 'A post at Reddit has one video and nothing else, or images.')
    return 'video'
  }
  if (media.length > 1) return 'gallery'
  if (media.length === 1) return 'image'
  return link === undefined ? 'self' : 'link'
}

async function submit(context: AccountContext, part: PublishPart, state: State): Promise<StepResult> {
  const kind = kindOf(part)
  const { flair_id: flairId, flair_text: flairText, nsfw, sendreplies, spoiler, subreddit } = part.options
  const common = {
    api_type: 'json',
    sr: subredditOf(subreddit),
    title: part.title ?? '',
    ...(part.text !== '' && { text: part.text }),
    ...(typeof flairId === 'string' && { flair_id: flairId }),
    ...(typeof flairText === 'string' && { flair_text: flairText }),
  }
  const flags = { nsfw: nsfw === true, spoiler: spoiler === true, sendreplies: sendreplies !== false }
  if (kind === 'gallery') {
    const items = state.assets.map(({ id }, index) => ({
      media_id: id,
      caption: part.media[index]?.altText ?? '',
      outbound_url: '',
    }))
    const { json } = await call<Submitted>(context, '/api/submit_gallery_post.json', {
      method: 'POST',
      json: { ...common, ...flags, items, validate_on_submit: true, show_error_list: true },
    })
    return { kind: 'published', post: remoteOf(json.data?.id ?? '', json.data?.url) }
  }
  const [file, poster] = state.assets
  const { json } = await call<Submitted>(context, '/api/submit', {
    method: 'POST',
    form: {
      ...common,
      ...Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, String(value)])),
      kind,
      // Others may have posted the same link.
      resubmit: 'true',
      validate_on_submit: 'true',
      url: kind === 'link' ? part.link : file?.url,
      video_poster_url: poster?.url,
    },
  })
  if (json.data?.name !== undefined) return { kind: 'published', post: remoteOf(json.data.name, json.data.url) }
  return { kind: 'next', state: { step: 'appear', assets: [], polls: 0 }, waitMs: POLL_MS }
}

async function appear(context: AccountContext, part: PublishPart, { polls = 0 }: State): Promise<StepResult> {
  const post = await findPost(context, part)
  if (post !== undefined) return { kind: 'published', post }
  if (polls >= MAX_POLLS) {
    throw new PlatformError('media_processing', TITLE, {
      code: 'not_listed',
      detail: 'Reddit accepted the post, but has not listed it. It may still be processing the file.',
      mayHaveHappened: true,
    })
  }
  return { kind: 'next', state: { step: 'appear', assets: [], polls: polls + 1 }, waitMs: POLL_MS }
}

async function comment(context: AccountContext, { parent, text }: PublishPart): Promise<StepResult> {
  const { json } = await call<Commented>(context, '/api/comment', {
    method: 'POST',
    form: { api_type: 'json', thing_id: parent?.id ?? '', text },
  })
  const [thing] = json.data.things
  return { kind: 'published', post: commentOf(thing!.data) }
}

async function findPost(context: AccountContext, part: PublishPart): Promise<RemotePost | undefined> {
  const { createdAt, media, options, text, title = '' } = part
  const subreddit = subredditOf(options['subreddit']).toLowerCase()
  const posts = await listed<Post>(context, 'submitted')
  const found = posts.find(
    (post) =>
      post.subreddit.toLowerCase() === subreddit &&
      isSameText(title, post.title) &&
      (media.length > 0 || isSameText(text, post.selftext ?? '')) &&
      post.created_utc * 1_000 >= createdAt - CLOCK_SKEW_MS,
  )
  return found && remoteOf(found.name, `https://www.reddit.com${found.permalink}`)
}

async function findComment(context: AccountContext, part: PublishPart): Promise<RemotePost | undefined> {
  const comments = await listed<Comment>(context, 'comments')
  const found = comments.find(
    ({ body, created_utc: at, parent_id: parent }) =>
      parent === part.parent?.id && isSameText(part.text, body) && at * 1_000 >= part.createdAt - CLOCK_SKEW_MS,
  )
  return found && commentOf(found)
}

async function listed<T>(context: AccountContext, what: 'submitted' | 'comments'): Promise<T[]> {
  const { username } = context.credential
  const name = typeof username === 'string' ? username : 'me'
  const { data } = await call<Listing<T>>(context, `/user/${name}/${what}`, { query: { sort: 'new', limit: LISTED } })
  return data.children.map((child) => child.data)
}

function commentOf({ name, permalink }: Comment): RemotePost {
  return { id: name, url: permalink === undefined ? null : `https://www.reddit.com${permalink}` }
}

/** @param id the fullname: `t3_…` for posts */
function remoteOf(id: string, url: string | undefined): RemotePost {
  return { id, url: url ?? null }
}

function refused(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}
