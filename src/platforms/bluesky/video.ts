import { SECOND } from '../../core/clock.ts'
import type { PostMedia } from '../content.ts'
import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext } from '../publishing.ts'
import { serverOf, TITLE, urlOf } from './servers.ts'
import { query } from './xrpc.ts'

/** A file as records refer to it. */
export interface Blob {
  readonly $type: 'blob'
  readonly ref: { readonly $link: string }
  readonly mimeType: string
  readonly size: number
}

/** An upload to the video service, between two steps. */
export interface VideoUpload {
  readonly jobId: string
  readonly partBytes: number
  readonly parts: number
  /** Parts that the service has. */
  readonly sent: number
  readonly isFinished: boolean
}

interface JobStatus {
  readonly state: string
  readonly blob?: Blob
  readonly error?: string
  readonly failureCode?: string
  readonly message?: string
}

const UPLOAD_TIMEOUT_MS = 120 * SECOND
/** The service uploads the processed video to the PDS with the token of the upload. */
const UPLOAD_TOKEN_SECONDS = 1_800

/**
 * Begins an upload to the video service; undefined where it does not serve this account.
 * @throws PlatformError
 */
export async function startUpload(context: AccountContext, file: PostMedia): Promise<VideoUpload | undefined> {
  const { bytes, height, name, seconds, type, width } = file
  try {
    const { json } = await upload(context, 'app.bsky.video.startUpload', {
      method: 'POST',
      json: {
        sizeBytes: bytes,
        mimeType: type,
        name: name.slice(0, 250),
        ...(seconds !== undefined && { durationMs: Math.round(seconds * 1_000) }),
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
      },
    })
    const { jobId, partCount, partSizeBytes } = json as { jobId: string; partCount: number; partSizeBytes: number }
    return { jobId, partBytes: partSizeBytes, parts: partCount, sent: 0, isFinished: false }
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'unsupported') return undefined
    throw error
  }
}

/** Sends the next part. A part that is sent again replaces itself. @throws PlatformError */
export async function sendPart(context: PublishContext, file: PostMedia, state: VideoUpload): Promise<VideoUpload> {
  const start = state.sent * state.partBytes
  const body = await context.media.read(file.id, start, Math.min(start + state.partBytes, file.bytes))
  await upload(context, 'app.bsky.video.uploadPart', {
    method: 'POST',
    query: { jobId: state.jobId, partNumber: state.sent + 1 },
    headers: { 'Content-Type': 'application/octet-stream' },
    body,
    timeoutMs: UPLOAD_TIMEOUT_MS,
  })
  return { ...state, sent: state.sent + 1 }
}

/** Ends the upload. It can be repeated. @throws PlatformError */
export async function finishUpload(context: AccountContext, state: VideoUpload): Promise<VideoUpload> {
  const { json } = await upload(context, 'app.bsky.video.finishUpload', {
    method: 'POST',
    json: { jobId: state.jobId },
  })
  // A video that the account has uploaded before has another job.
  return { ...state, jobId: (json as { completedJobId: string }).completedJobId, isFinished: true }
}

/** The processed video; undefined while it is being processed. @throws PlatformError media_processing */
export async function processed(context: AccountContext, { jobId }: VideoUpload): Promise<Blob | undefined> {
  const { json } = await upload(context, 'app.bsky.video.getJobStatus', { query: { jobId } })
  const { blob, error, failureCode, message, state } = (json as { jobStatus: JobStatus }).jobStatus
  if (state === 'JOB_STATE_FAILED') {
    throw new PlatformError('media_processing', TITLE, {
      code: failureCode ?? error,
      detail: message ?? error,
      mayHaveHappened: false,
    })
  }
  return state === 'JOB_STATE_COMPLETED' ? blob : undefined
}

export interface UploadLimits {
  readonly canUpload: boolean
  readonly remainingDailyVideos?: number
  readonly remainingDailyBytes?: number
  readonly message?: string
  readonly error?: string
}

/** What the account may upload today; undefined where there is no video service. @throws PlatformError */
export async function uploadLimits(context: AccountContext): Promise<UploadLimits | undefined> {
  const method = 'app.bsky.video.getUploadLimits'
  const aud = `did:web:${new URL(urlOf(context.settings, 'video')).hostname}`
  try {
    return (await call(context, method, {}, await tokenFor(context, aud, method))).json as UploadLimits
  } catch (error) {
    if (error instanceof PlatformError && error.kind === 'unsupported') return undefined
    throw error
  }
}

/** Calls a method of an upload, on behalf of the PDS. */
async function upload(context: AccountContext, method: string, request: Omit<PlatformRequest, 'url'>) {
  const { hostname } = new URL(serverOf(context.settings, context.credential.server ?? '').url)
  const token = await tokenFor(context, `did:web:${hostname}`, 'com.atproto.repo.uploadBlob', UPLOAD_TOKEN_SECONDS)
  return call(context, method, request, token)
}

function call(
  { http, settings, signal }: AccountContext,
  method: string,
  request: Omit<PlatformRequest, 'url'>,
  token: string,
): Promise<PlatformReply> {
  return http.send({
    ...request,
    url: `${urlOf(settings, 'video')}/xrpc/${method}`,
    headers: { Authorization: `Bearer ${token}`, ...request.headers },
    secrets: [token],
    signal,
  })
}

/** A token with which another service acts for the account (atproto.com/specs/xrpc, Inter-Service Authentication). */
async function tokenFor(context: AccountContext, aud: string, lxm: string, seconds = 60): Promise<string> {
  const exp = Math.floor(context.clock.now() / 1_000) + seconds
  return (await query<{ token: string }>(context, 'com.atproto.server.getServiceAuth', { aud, lxm, exp })).token
}
