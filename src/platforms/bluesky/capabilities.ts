import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, LiveCapabilities } from '../platform.ts'
import { rules } from './rules.ts'
import { uploadLimits } from './video.ts'
import { query } from './xrpc.ts'

interface ServerDescription {
  readonly did: string
  readonly blobUploadLimit?: number
}

/** The limits of the account's server, and what the video service still takes today. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const server = await query<ServerDescription>(context, 'com.atproto.server.describeServer')
  const video = await videoLimits(context)
  const most = (id: string, ...live: readonly (number | undefined)[]) =>
    Math.min(...[valueOf(id), ...live].filter((value) => value !== undefined))
  const blob = server.blobUploadLimit
  return {
    limits: {
      'image.maxBytes': most('image.maxBytes', blob),
      // Without a video service the server itself takes the file.
      'video.maxBytes': most('video.maxBytes', video === undefined ? blob : video.remainingDailyBytes),
    },
    blocked: video?.canUpload === false ? { video: video.message ?? 'This account cannot upload videos today.' } : {},
    details: {
      server: server.did,
      videoService: video !== undefined,
      ...(video?.remainingDailyVideos !== undefined && { remainingDailyVideos: video.remainingDailyVideos }),
      ...(video?.remainingDailyBytes !== undefined && { remainingDailyBytes: video.remainingDailyBytes }),
    },
  }
}

/** An outage of the video service does not hide the other limits. */
async function videoLimits(context: AccountContext) {
  try {
    return await uploadLimits(context)
  } catch (error) {
    if (error instanceof PlatformError && error.kind !== 'auth_expired') return undefined
    throw error
  }
}

function valueOf(id: string): number | undefined {
  const value = rules.find((rule) => rule.id === id)?.value
  return typeof value === 'number' ? value : undefined
}
