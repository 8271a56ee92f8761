import { PlatformError } from '../error-kinds.ts'
import { multipart } from '../http/multipart.ts'
import { ignoreMissing, isSent } from '../meta/matching.ts'
import type { AccountContext } from '../platform.ts'
import type {
  Insights,
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  Reconciled,
  StepResult,
} from '../publishing.ts'
import { call, TITLE } from './graph.ts'
import { pageOf } from './profile.ts'
import { findStory, publishPhotoStory } from './stories.ts'
import { confirmReel, finishReel, reconcileReel, startReel, uploadReel, type ReelState } from './reels.ts'

/** Uploads one photo per step, unpublished, then publishes a post with all of them, or a story with the only one. */
interface PostState extends PublishState {
  readonly step: 'photo' | 'post' | 'story' | 'comment'
  readonly photos: readonly string[]
}

type State = PostState | ReelState

interface Attachment {
  readonly target?: { readonly id?: string }
  readonly subattachments?: { readonly data: readonly Attachment[] }
}

interface Post {
  readonly id: string
  readonly message?: string
  readonly created_time: string
  readonly permalink_url?: string
  readonly attachments?: { readonly data: readonly Attachment[] }
}

export interface Figures {
  readonly reactions?: { readonly summary?: { readonly total_count?: number } }
  readonly comments?: { readonly summary?: { readonly total_count?: number } }
  readonly shares?: { readonly count?: number }
  readonly views?: number
}

const PHOTO_TIMEOUT_MS = 120_000
const COMMITTING = ['post', 'story', 'comment', 'finish']

/**
 * Publishing to pages (developers.facebook.com, Pages API posts and Reels Publishing API, 2026-11). Videos are reels.
 */
export const publishing: Publishing = {
  // Facebook refuses some repetitions, but does not return the first post.
  repeatable: false,
  start: ({ media, options, role }, { credential }): State => {
    if (pageOf(credential) === undefined) throw unsupported('A login cannot publish. Choose pages of it.')
    if (role === 'reply') throw unsupported('Facebook has no threads.')
    if (role === 'comment') return { step: 'comment', photos: [] }
    const isStory = options['placement'] === 'story'
    if (isStory && media.length !== 1) throw unsupported('A story has one photo or video.')
    if (media.some(({ kind }) => kind === 'video')) {
      if (media.length > 1) throw unsupported('A reel has one video and no other files.')
      return { step: 'start', isStory }
    }
    return { step: media.length > 0 ? 'photo' : 'post', photos: [] }
  },
  // Unpublished photos last for a day. Nothing is documented for reels.
  preparation: { lifeMs: 3_600_000 },
  commits: ({ step }) => COMMITTING.includes(step),
  step: async (context, part, state) => {
    const known = state as State
    switch (known.step) {
      case 'photo':
        return uploadPhoto(context, part, known)
      case 'post':
        return post(context, part, known)
      case 'story':
        return publishPhotoStory(context, known.photos[0] ?? '')
      case 'comment':
        return comment(context, part)
      case 'start':
        return startReel(context, known.isStory)
      case 'upload':
        return uploadReel(context, part, known)
      case 'finish':
        return finishReel(context, part, known)
      default:
        return confirmReel(context, known)
    }
  },
  reconcile: async (context, part, state) => {
    const known = state as State
    if (known.step === 'finish') return reconcileReel(context, known)
    if (known.step === 'story') return findStory(context, known.photos[0] ?? '')
    return known.step === 'comment' ? findComment(context, part) : findPost(context, part, known as PostState)
  },
  remove: async (context, { id, ids }) => {
    if (ids?.['kind'] === 'story')
      throw unsupported('Facebook documents no way to delete a story. It ends after 24 hours.')
    await ignoreMissing(call(context, id, { method: 'DELETE' }))
  },
  edit: async (context, remote, { text }) => {
    if (remote.ids?.['kind'] === 'story') throw unsupported('A story cannot be edited.')
    const isReel = remote.ids?.['kind'] === 'reel'
    await call(context, remote.id, { method: 'POST', form: isReel ? { description: text } : { message: text } })
    return remote
  },
  insights: async (context, { id, ids }): Promise<Insights> => {
    if (ids?.['kind'] === 'story') return {}
    const summary = (edge: string) => `${edge}.summary(total_count).limit(0)`
    const last = ids?.['kind'] === 'reel' ? 'views' : 'shares'
    const fields = `${summary('reactions')},${summary('comments')},${last}`
    const { comments, reactions, shares, views } = (await call(context, id, { query: { fields } })) as Figures
    return {
      likes: reactions?.summary?.total_count ?? 0,
      comments: comments?.summary?.total_count ?? 0,
      // A post that nobody has shared has no `shares`.
      ...(last === 'shares' && { shares: shares?.count ?? 0 }),
      ...(views !== undefined && { views }),
    }
  },
}

async function uploadPhoto(
  context: PublishContext,
  { media, options }: PublishPart,
  { photos }: PostState,
): Promise<StepResult> {
  const file = media[photos.length]
  if (file === undefined) {
    return { kind: 'next', state: { step: options['placement'] === 'story' ? 'story' : 'post', photos } }
  }
  const { altText, bytes, id, name, type } = file
  const form = multipart({ published: 'false', alt_text_custom: altText }, [
    { field: 'source', filename: name, type, body: await context.media.read(id, 0, bytes) },
  ])
  const path = `${context.remoteId}/photos`
  const photo = (await call(context, path, { method: 'POST', ...form, timeoutMs: PHOTO_TIMEOUT_MS })) as { id: string }
  return { kind: 'next', state: { step: 'photo', photos: [...photos, photo.id] } }
}

async function post(context: PublishContext, { link, text }: PublishPart, { photos }: PostState): Promise<StepResult> {
  const attached = photos.map((id, index) => [`attached_media[${index}]`, JSON.stringify({ media_fbid: id })])
  const { id } = (await call(context, `${context.remoteId}/feed`, {
    method: 'POST',
    form: {
      ...(text !== '' && { message: text }),
      // A post has a preview of a link or media.
      ...(photos.length === 0 && { link }),
      ...(Object.fromEntries(attached) as Record<string, string>),
    },
  })) as { id: string }
  return { kind: 'published', post: { id, url: postUrl(context, id) } }
}

async function comment(context: PublishContext, part: PublishPart): Promise<StepResult> {
  const form = { message: part.text }
  const { id } = (await call(context, `${parentOf(part)}/comments`, { method: 'POST', form })) as { id: string }
  return { kind: 'published', post: { id, url: postUrl(context, id), ids: { kind: 'comment' } } }
}

async function findPost(context: AccountContext, part: PublishPart, { photos }: PostState): Promise<Reconciled> {
  const { data } = (await call(context, `${context.remoteId}/posts`, {
    query: {
      fields: 'id,message,created_time,permalink_url,attachments{target{id},subattachments{target{id}}}',
      limit: 50,
    },
  })) as { data: readonly Post[] }
  const found = data.find(({ attachments, created_time: time, message = '' }) => {
    const attached = targetsOf(attachments?.data ?? [])
    // A photo belongs to one post, so it identifies the post.
    if (photos.length > 0) return photos.some((photo) => attached.includes(photo))
    return isSent(part, message, time)
  })
  if (found === undefined) return { kind: 'absent' }
  return { kind: 'published', post: { id: found.id, url: found.permalink_url ?? postUrl(context, found.id) } }
}

async function findComment(context: AccountContext, part: PublishPart): Promise<Reconciled> {
  const { data } = (await call(context, `${parentOf(part)}/comments`, {
    query: { fields: 'id,message,created_time,from', order: 'reverse_chronological', limit: 50 },
  })) as { data: readonly (Post & { readonly from?: { readonly id: string } })[] }
  const found = data.find(
    ({ created_time: time, from, message = '' }) => from?.id === context.remoteId && isSent(part, message, time),
  )
  if (found === undefined) return { kind: 'absent' }
  return { kind: 'published', post: { id: found.id, url: postUrl(context, found.id), ids: { kind: 'comment' } } }
}

function targetsOf(attachments: readonly Attachment[]): string[] {
  return attachments.flatMap(({ subattachments, target }) => [
    ...(target?.id === undefined ? [] : [target.id]),
    ...targetsOf(subattachments?.data ?? []),
  ])
}

function parentOf({ parent, root }: PublishPart): string {
  const target = root ?? parent
  if (target === undefined) throw unsupported('A comment needs a post.')
  if (target.ids?.['kind'] === 'story') throw unsupported('A story has no comments.')
  return target.id
}

/** Facebook redirects the id to the post. */
function postUrl({ settings }: AccountContext, id: string): string {
  return `${settings.authUrl}/${id}`
}

function unsupported(detail: string): PlatformError {
  return new PlatformError('unsupported', TITLE, { detail, mayHaveHappened: false })
}
