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
import type { Insights, PublishContext, Publishing } from '../publishing.ts'
import { API, call, TITLE } from './graph.ts'

interface Thread {
  readonly id: string
  readonly text?: string
  readonly timestamp: string
  readonly permalink?: string
  readonly replied_to?: { readonly id: string }
}

interface Metrics {
  readonly data?: readonly {
    readonly name: string
    readonly values?: readonly { readonly value?: number }[]
    readonly total_value?: { readonly value?: number }
  }[]
}

const containers: ContainerApi = {
  api: API,
  createEdge: 'threads',
  publishEdge: 'threads_publish',
  statusField: 'status',
  errorField: 'error_message',
  // Failures that do not depend on the file (Threads troubleshooting, 2026-11).
  transient: /^UNKNOWN$/,
  countOf: ({ media }) => media.length,
  itemForm: async (context, { media }, index) => ({
    ...(await fileForm(context, media[index])),
    is_carousel_item: 'true',
  }),
  postForm: async (context, part, items) => {
    const { link, media, options, parent, role, text } = part
    if (role !== 'post' && parent === undefined) throw refused('A reply needs the post that it answers.')
    const shared = {
      ...(text !== '' && { text }),
      reply_to_id: parent?.id,
      topic_tag: options['topic_tag'] as string | undefined,
      quote_post_id: options['quote_post_id'] as string | undefined,
      // Who can reply is a matter of the first part.
      ...(parent === undefined && { reply_control: options['reply_control'] as string | undefined }),
    }
    if (items.length > 0) return { ...shared, media_type: 'CAROUSEL', children: items.join(',') }
    return {
      ...shared,
      ...(media.length > 0 ? await fileForm(context, media[0]) : { media_type: 'TEXT', link_attachment: link }),
    }
  },
  find: async (context, part) => {
    const edge = part.parent === undefined ? 'threads' : 'replies'
    const { data } = (await call(context, `${context.remoteId}/${edge}`, {
      query: { fields: 'id,text,timestamp,permalink,replied_to', limit: 25 },
    })) as { data: readonly Thread[] }
    const found = data.find(
      ({ replied_to: repliedTo, text = '', timestamp }) =>
        (part.parent === undefined || repliedTo?.id === part.parent.id) && isSent(part, text, timestamp),
    )
    return found === undefined ? undefined : { id: found.id, url: found.permalink ?? null }
  },
}

/** Publishing by containers (developers.facebook.com, Threads posts, 2026-11). Posts cannot be edited. */
export const publishing: Publishing = {
  // A container is published once, but Threads does not return the first post.
  repeatable: false,
  start: ({ media, text }) => {
    if (text === '' && media.length === 0) throw refused('A post needs a text, an image or a video.')
    return NEW_CONTAINERS
  },
  // Containers last for 24 hours.
  preparation: {
    lifeMs: 23 * 3_600_000,
    texts: true,
    replies: true,
    // The container of a reply names the post that it answers. The items of its carousel do not.
    waits: (state, { media, role }) => {
      const { items, step } = state as ContainerState
      return role !== 'post' && step === 'create' && (media.length < 2 || items.length === media.length)
    },
  },
  commits: ({ step }) => step === 'publish',
  step: (context, part, state) => containerStep(containers, context, part, state as ContainerState),
  reconcile: (context, part, state) => reconcileContainer(containers, context, part, state as ContainerState),
  remove: (context, { id }) => ignoreMissing(call(context, id, { method: 'DELETE' })),
  insights: async (context, { id }): Promise<Insights> => {
    const metric = 'views,likes,replies,reposts,quotes,shares'
    const { data = [] } = (await call(context, `${id}/insights`, { query: { metric } })) as Metrics
    const figures = new Map(
      data.map(({ name, total_value: total, values }) => [name, values?.[0]?.value ?? total?.value]),
    )
    const shares = ['reposts', 'quotes', 'shares'].flatMap((name) => figures.get(name) ?? [])
    const views = figures.get('views')
    const likes = figures.get('likes')
    const comments = figures.get('replies')
    return {
      ...(views !== undefined && { views }),
      ...(likes !== undefined && { likes }),
      ...(comments !== undefined && { comments }),
      ...(shares.length > 0 && { shares: shares.reduce((sum, count) => sum + count, 0) }),
    }
  },
}

/** A file by its address, which Threads fetches. */
async function fileForm(context: PublishContext, file: PostMedia | undefined): Promise<ContainerForm> {
  if (file === undefined) throw refused('A file is missing.')
  const url = await context.media.publicUrl(file.id)
  const address =
    file.kind === 'video' ? { media_type: 'VIDEO', video_url: url } : { media_type: 'IMAGE', image_url: url }
  return { ...address, alt_text: file.altText }
}

function refused(detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { detail, mayHaveHappened: false })
}
