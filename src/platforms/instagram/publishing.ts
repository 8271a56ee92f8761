import { PlatformError } from '../error-kinds.ts'
import {
  containerStep,
  NEW_CONTAINERS,
  reconcileContainer,
  type ContainerApi,
  type ContainerForm,
  type ContainerState,
} from '../meta/containers.ts'
import { ignoreMissing, isSent } from '../meta/matching.ts'
import type { PostMedia } from '../content.ts'
import type { AccountContext } from '../platform.ts'
import type { Insights, PublishContext, Publishing, PublishPart, PublishState, Reconciled } from '../publishing.ts'
import { API, call, TITLE } from './graph.ts'

interface Media {
  readonly id: string
  readonly caption?: string
  readonly timestamp: string
  readonly permalink?: string
  readonly media_type?: 'IMAGE' | 'VIDEO' | 'CAROUSEL_ALBUM'
}

interface Comment {
  readonly id: string
  readonly text?: string
  readonly timestamp: string
}

interface Metrics {
  readonly data?: readonly { readonly name: string; readonly values?: readonly { readonly value?: number }[] }[]
}

const containers: ContainerApi = {
  api: API,
  createEdge: 'media',
  publishEdge: 'media_publish',
  statusField: 'status_code',
  errorField: 'status',
  // Errors of Instagram's servers, for which it says to create a new container.
  transient: /2207001|2207003|2207020|2207032|2207053/,
  countOf: ({ media }) => media.length,
  itemForm: async (context, part, index) => ({
    ...(await fileForm(context, part.media[index], 'VIDEO')),
    is_carousel_item: 'true',
  }),
  postForm: async (context, part, items) => {
    const { media, options, text } = part
    if (isStory(part)) return { ...(await fileForm(context, media[0], 'STORIES')), media_type: 'STORIES' }
    const collaborators = options['collaborators'] as readonly string[] | undefined
    const shared = {
      ...(text !== '' && { caption: text }),
      ...(collaborators !== undefined && { collaborators: JSON.stringify(collaborators) }),
      location_id: options['location_id'] as string | undefined,
    }
    if (items.length > 0) return { ...shared, media_type: 'CAROUSEL', children: items.join(',') }
    const file = await fileForm(context, media[0], 'REELS')
    return { ...shared, ...file, ...(media[0]?.kind === 'video' && reelOptions(options)) }
  },
  idsOf: (part) => (isStory(part) ? { kind: 'story' } : undefined),
  find: async (context, part) => {
    const edge = isStory(part) ? 'stories' : 'media'
    const { data } = (await call(context, `${context.remoteId}/${edge}`, {
      query: { fields: 'id,caption,timestamp,permalink,media_type', limit: 25 },
    })) as { data: readonly Media[] }
    const type = typeOf(part)
    const found = data.find(
      ({ caption = '', media_type: kind, timestamp }) =>
        (kind === undefined || kind === type) &&
        isSent(isStory(part) ? { ...part, text: '' } : part, caption, timestamp),
    )
    if (found === undefined) return undefined
    return { id: found.id, url: found.permalink ?? null, ...(isStory(part) && { ids: { kind: 'story' } }) }
  },
}

type State = ContainerState | { readonly step: 'comment' }

/** Publishing by containers (developers.facebook.com, Instagram content publishing, 2026-11). Posts cannot be edited. */
export const publishing: Publishing = {
  // A container is published once, but Instagram does not return the first post, and comments can repeat.
  repeatable: false,
  start: (part): PublishState => {
    const { media, role } = part
    if (role === 'reply') throw unsupported('Instagram has no threads.')
    if (role === 'comment') return { step: 'comment' }
    if (media.length === 0) throw refused('A post needs an image or a video.')
    if (isStory(part) && media.length > 1) throw refused('A story has one image or video.')
    return NEW_CONTAINERS
  },
  // Containers last for 24 hours.
  preparation: { lifeMs: 23 * 3_600_000 },
  commits: ({ step }) => step === 'publish' || step === 'comment',
  step: async (context, part, state) => {
    const known = state as State
    if (known.step !== 'comment') return containerStep(containers, context, part, known)
    const { id } = (await call(context, `${parentOf(part)}/comments`, {
      method: 'POST',
      form: { message: part.text },
    })) as { id: string }
    return { kind: 'published', post: { id, url: null, ids: { kind: 'comment' } } }
  },
  reconcile: async (context, part, state) => {
    const known = state as State
    return known.step === 'comment' ? findComment(context, part) : reconcileContainer(containers, context, part, known)
  },
  remove: async (context, { id, ids }) => {
    if (ids?.['kind'] !== 'comment') {
      throw unsupported('Instagram deletes posts only in its app. Its API for Instagram Login has no such call.')
    }
    await ignoreMissing(call(context, id, { method: 'DELETE' }))
  },
  insights: async (context, { id, ids }): Promise<Insights> => {
    const isStoryPost = ids?.['kind'] === 'story'
    const metric = isStoryPost ? 'views,reach,shares' : 'views,reach,likes,comments,shares,saved'
    const { data = [] } = (await call(context, `${id}/insights`, { query: { metric } })) as Metrics
    const figures = Object.fromEntries(data.map(({ name, values }) => [name, values?.[0]?.value]))
    const known: Readonly<Record<string, number | undefined>> = { ...figures, saves: figures['saved'] }
    const names = ['views', 'reach', 'likes', 'comments', 'shares', 'saves'] as const
    return Object.fromEntries(names.flatMap((name) => (known[name] === undefined ? [] : [[name, known[name]]])))
  },
}

/** A file by its address, which Instagram fetches. @param videoType the media type of a video in this place */
async function fileForm(
  context: PublishContext,
  file: PostMedia | undefined,
  videoType: 'VIDEO' | 'REELS' | 'STORIES',
): Promise<ContainerForm> {
  if (file === undefined) throw refused('A post needs an image or a video.')
  const url = await context.media.publicUrl(file.id)
  if (file.kind === 'video') return { media_type: videoType, video_url: url }
  return { image_url: url, ...(videoType !== 'STORIES' && { alt_text: file.altText }) }
}

function reelOptions(options: PublishPart['options']): ContainerForm {
  const { share_to_feed: shareToFeed, thumb_offset: offset } = options as {
    share_to_feed?: boolean
    thumb_offset?: number
  }
  return {
    ...(shareToFeed !== undefined && { share_to_feed: String(shareToFeed) }),
    ...(offset !== undefined && { thumb_offset: String(offset) }),
  }
}

async function findComment(context: AccountContext, part: PublishPart): Promise<Reconciled> {
  const { data } = (await call(context, `${parentOf(part)}/comments`, {
    query: { fields: 'id,text,timestamp', limit: 50 },
  })) as { data: readonly Comment[] }
  const found = data.find(({ text = '', timestamp }) => isSent(part, text, timestamp))
  if (found === undefined) return { kind: 'absent' }
  return { kind: 'published', post: { id: found.id, url: null, ids: { kind: 'comment' } } }
}

function isStory({ options }: PublishPart): boolean {
  return options['placement'] === 'story'
}

function typeOf({ media }: PublishPart): Media['media_type'] {
  if (media.length > 1) return 'CAROUSEL_ALBUM'
  return media[0]?.kind === 'video' ? 'VIDEO' : 'IMAGE'
}

function parentOf({ parent, root }: PublishPart): string {
  const post = root ?? parent
  if (post === undefined) throw unsupported('A comment needs a post.')
  return post.id
}

function refused(detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { detail, mayHaveHappened: false })
}

function unsupported(detail: string): PlatformError {
  return new PlatformError('unsupported', TITLE, { detail, mayHaveHappened: false })
}
