import type { PostMedia } from '../content.ts'
import type { StreamBody } from '../../fetch/outgoing.ts'
import { PlatformError } from '../error-kinds.ts'
import type { CardPicture } from '../link-card.ts'
import type { PublishContext } from '../publishing.ts'
import { call, encoded, TITLE } from './api.ts'

/** A part of a file, and where it goes. */
interface Part {
  readonly url: string
  readonly first: number
  readonly last: number
}

/** An upload that is under way. */
export interface Upload {
  /** The URN of the image, video or document. */
  readonly urn: string
  readonly token?: string
  readonly parts: readonly Part[]
  /** One for each part that was sent. */
  readonly etags: readonly string[]
}

interface Initialized {
  readonly value: {
    readonly image?: string
    readonly document?: string
    readonly video?: string
    readonly uploadUrl?: string
    readonly uploadToken?: string
    readonly uploadInstructions?: readonly {
      readonly uploadUrl: string
      readonly firstByte: number
      readonly lastByte: number
    }[]
  }
}

const UPLOAD_TIMEOUT_MS = 300_000

type Collection = 'images' | 'videos' | 'documents'

function collectionOf({ kind }: Pick<PostMedia, 'kind'>): Collection {
  if (kind === 'video') return 'videos'
  return kind === 'document' ? 'documents' : 'images'
}

/** Requests the upload of a file. For a video, LinkedIn chooses the byte ranges of the parts. */
export async function initialize(context: PublishContext, file: Pick<PostMedia, 'kind' | 'bytes'>): Promise<Upload> {
  const { json } = await call(context, `/rest/${collectionOf(file)}?action=initializeUpload`, {
    method: 'POST',
    json: {
      initializeUploadRequest: {
        owner: context.remoteId,
        ...(file.kind === 'video' && { fileSizeBytes: file.bytes, uploadCaptions: false, uploadThumbnail: false }),
      },
    },
  })
  const { value } = json as Initialized
  const urn = value.image ?? value.video ?? value.document
  const parts =
    value.uploadUrl === undefined
      ? value.uploadInstructions?.map(({ firstByte, lastByte, uploadUrl }) => ({
          url: uploadUrl,
          first: firstByte,
          last: lastByte,
        }))
      : [{ url: value.uploadUrl, first: 0, last: file.bytes - 1 }]
  if (urn === undefined || parts === undefined) {
    throw new PlatformError('unknown', TITLE, { code: 'no_upload', detail: 'the reply does not say where to upload' })
  }
  return { urn, parts, etags: [], ...(value.uploadToken !== undefined && { token: value.uploadToken }) }
}

/** Sends the next part. Sending it again replaces it. */
export async function sendPart(context: PublishContext, file: PostMedia, upload: Upload): Promise<Upload> {
  const part = upload.parts[upload.etags.length]
  if (part === undefined) return upload
  const body = await context.media.read(file.id, part.first, part.last + 1)
  const { headers } = await put(context, part, { kind: file.kind, type: file.type, body })
  return { ...upload, etags: [...upload.etags, (headers.etag ?? '').replaceAll('"', '')] }
}

/** Sends a picture that is no file of the post. @returns its URN */
export async function sendPicture(context: PublishContext, { bytes, type }: CardPicture): Promise<string> {
  const { parts, urn } = await initialize(context, { kind: 'image', bytes: bytes.length })
  for (const part of parts) await put(context, part, { kind: 'image', type, body: bytes })
  return urn
}

function put(
  context: PublishContext,
  { url }: Part,
  { body, kind, type }: Pick<PostMedia, 'kind' | 'type'> & { readonly body: StreamBody | Uint8Array },
) {
  return context.http.send({
    method: 'PUT',
    url,
    headers: {
      'Content-Type': kind === 'video' ? 'application/octet-stream' : type,
      // The addresses of parts of videos are signed. The others need the token.
      ...(kind !== 'video' && { Authorization: `Bearer ${context.credential.accessToken}` }),
    },
    body,
    secrets: [...new URL(url).searchParams.values()],
    timeoutMs: UPLOAD_TIMEOUT_MS,
    signal: context.signal,
  })
}

/** Puts the parts of a video together. */
export async function finalize(context: PublishContext, { etags, token = '', urn }: Upload): Promise<void> {
  await call(context, '/rest/videos?action=finalizeUpload', {
    method: 'POST',
    json: { finalizeUploadRequest: { video: urn, uploadToken: token, uploadedPartIds: etags } },
  })
}

/** Whether LinkedIn has processed a file. @throws PlatformError media_processing when it failed */
export async function isAvailable(
  context: PublishContext,
  file: Pick<PostMedia, 'kind'>,
  urn: string,
): Promise<boolean> {
  const { json } = await call(context, `/rest/${collectionOf(file)}/${encoded(urn)}`)
  const { processingFailureReason: reason, status } = json as { status?: string; processingFailureReason?: string }
  if (status === 'PROCESSING_FAILED') {
    throw new PlatformError('media_processing', TITLE, { code: status, detail: reason, mayHaveHappened: false })
  }
  return status === 'AVAILABLE'
}
