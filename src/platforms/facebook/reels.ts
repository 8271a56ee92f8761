import { PlatformError } from '../error-kinds.ts'
import { pollDelay } from '../meta/polling.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext, PublishPart, PublishState, Reconciled, RemotePost, StepResult } from '../publishing.ts'
import { call, TITLE } from './graph.ts'
import { findStory, storyOf } from './stories.ts'

interface UploadState extends PublishState {
  readonly step: 'upload' | 'finish' | 'confirm'
  readonly video: string
  readonly uploadUrl: string
  /** Whether the video becomes a story. It is uploaded in the same way. */
  readonly isStory: boolean
  /** The id of the story, if the reply was not lost. */
  readonly story?: string
  /** How often the status was read. */
  readonly polls: number
}

/** Opens an upload session, uploads the file, publishes it, and waits until it is visible. */
export type ReelState = (PublishState & { readonly step: 'start'; readonly isStory: boolean }) | UploadState

interface Phase {
  readonly status?: 'not_started' | 'in_progress' | 'complete' | 'error'
  readonly errors?: readonly { readonly code?: number; readonly message?: string }[]
}

interface Video {
  readonly id: string
  readonly permalink_url?: string
  readonly status?: {
    readonly video_status?: string
    readonly uploading_phase?: Phase & {
      readonly bytes_transferred?: number
      /** As a part of the documentation spells it. */
      readonly bytes_transfered?: number
    }
    readonly processing_phase?: Phase
    readonly publishing_phase?: Phase & { readonly publish_status?: string }
  }
}

/** The slowest upload that is not given up: one hour. It continues after a cut. */
const UPLOAD_TIMEOUT_MS = 3_600_000

/** Opens an upload session. A session that is not used ends by itself. */
export async function startReel(context: PublishContext, isStory: boolean): Promise<StepResult> {
  const { upload_url: uploadUrl, video_id: video } = (await call(context, edgeOf(context, isStory), {
    method: 'POST',
    form: { upload_phase: 'start' },
  })) as { upload_url: string; video_id: string }
  return { kind: 'next', state: { step: 'upload', video, uploadUrl, isStory, polls: 0 } }
}

/**
 * Uploads what the server does not have yet. The protocol has no pieces: a request sends all the rest, and after a cut
 * the next one continues where the server stopped receiving.
 */
export async function uploadReel(
  context: PublishContext,
  { media }: PublishPart,
  state: UploadState,
): Promise<StepResult> {
  const file = media.find(({ kind }) => kind === 'video')
  if (file === undefined) throw new Error('a reel has no video')
  const { uploading_phase: phase = {} } = (await videoOf(context, state.video)).status ?? {}
  const offset = phase.bytes_transferred ?? phase.bytes_transfered ?? 0
  if (offset < file.bytes) {
    const accessToken = context.credential.accessToken ?? ''
    await context.http.send({
      method: 'POST',
      url: state.uploadUrl,
      headers: {
        Authorization: `OAuth ${accessToken}`,
        'Content-Type': 'application/octet-stream',
        offset: String(offset),
        file_size: String(file.bytes),
      },
      body: await context.media.read(file.id, offset, file.bytes),
      timeoutMs: UPLOAD_TIMEOUT_MS,
      secrets: [accessToken],
      signal: context.signal,
    })
  }
  return { kind: 'next', state: { ...state, step: 'finish' } }
}

/** Publishes the reel or story. It is visible when it is processed. */
export async function finishReel(
  context: PublishContext,
  { text }: PublishPart,
  state: UploadState,
): Promise<StepResult> {
  const { isStory, video } = state
  const more = isStory ? {} : { video_state: 'PUBLISHED', description: text }
  const { post_id: story } = (await call(context, edgeOf(context, isStory), {
    method: 'POST',
    form: { upload_phase: 'finish', video_id: video, ...more },
  })) as { post_id?: string }
  const known = isStory && story !== undefined ? { story } : {}
  return { kind: 'next', state: { ...state, ...known, step: 'confirm' } }
}

function edgeOf({ remoteId }: PublishContext, isStory: boolean): string {
  return `${remoteId}/${isStory ? 'video_stories' : 'video_reels'}`
}

export async function confirmReel(context: PublishContext, state: UploadState): Promise<StepResult> {
  const video = await videoOf(context, state.video)
  const { processing_phase: processing, publishing_phase: publishing, uploading_phase: uploading } = video.status ?? {}
  const failed = [uploading, processing, publishing].find((phase) => phase?.status === 'error')
  if (failed !== undefined || video.status?.video_status === 'error') {
    const [error] = failed?.errors ?? []
    throw new PlatformError('media_processing', TITLE, {
      code: error?.code === undefined ? undefined : String(error.code),
      detail: error?.message ?? 'Facebook could not process the video.',
      mayHaveHappened: false,
    })
  }
  if (publishing?.status === 'complete') {
    if (!state.isStory) return { kind: 'published', post: postOf(context, video) }
    const found = await findStory(context, state.video)
    if (found.kind === 'published') return found
    return { kind: 'published', post: storyOf({ post_id: state.story ?? state.video }) }
  }
  return { kind: 'next', state: { ...state, polls: state.polls + 1 }, waitMs: pollDelay(state.polls) }
}

/** A session is one reel, whose status says whether it was published. */
export async function reconcileReel(context: AccountContext, state: UploadState): Promise<Reconciled> {
  const { isStory, video: id } = state
  if (isStory) {
    const found = await findStory(context, id)
    if (found.kind === 'published') return found
  }
  const video = await videoOf(context, id)
  const { processing_phase: processing, publishing_phase: publishing } = video.status ?? {}
  const wasReceived =
    publishing?.publish_status === 'published' ||
    [processing, publishing].some((phase) => phase?.status === 'in_progress' || phase?.status === 'complete')
  if (!wasReceived) return { kind: 'absent' }
  // A story is listed when it is processed.
  return isStory ? { kind: 'pending' } : { kind: 'published', post: postOf(context, video) }
}

async function videoOf(context: AccountContext, id: string): Promise<Video> {
  return (await call(context, id, { query: { fields: 'id,status,permalink_url' } })) as Video
}

function postOf({ settings }: AccountContext, { id, permalink_url: path }: Video): RemotePost {
  // The address is relative.
  return { id, url: new URL(path ?? `/reel/${id}`, settings.authUrl).href, ids: { kind: 'reel' } }
}
