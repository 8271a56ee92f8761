import type { AccountContext } from '../platform.ts'
import type { PublishContext, Reconciled, RemotePost, StepResult } from '../publishing.ts'
import { call } from './graph.ts'

/** A story as the page lists it (developers.facebook.com, Page Stories, 2026-11). */
interface Story {
  readonly post_id: string
  /** The id of the photo or video. */
  readonly media_id?: string
  readonly url?: string
}

/** More than a page publishes while a call is cleared up. */
const LISTED = 50

/** Publishes an uploaded photo as a story. A photo is one story at most. */
export async function publishPhotoStory(context: PublishContext, photo: string): Promise<StepResult> {
  const { post_id: id } = (await call(context, `${context.remoteId}/photo_stories`, {
    method: 'POST',
    form: { photo_id: photo },
  })) as { post_id: string }
  return { kind: 'published', post: storyOf({ post_id: id }) }
}

/** Looks for the story of a photo or video, which has its id. */
export async function findStory(context: AccountContext, media: string): Promise<Reconciled> {
  const { data } = (await call(context, `${context.remoteId}/stories`, {
    query: { fields: 'post_id,media_id,url', limit: LISTED },
  })) as { data: readonly Story[] }
  const found = data.find(({ media_id: id }) => id === media)
  return found === undefined ? { kind: 'absent' } : { kind: 'published', post: storyOf(found) }
}

export function storyOf({ post_id: id, url }: Story): RemotePost {
  return { id, url: url ?? null, ids: { kind: 'story' } }
}
