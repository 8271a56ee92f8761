import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts } from '../media-facts.ts'
import type { FakeRepos } from './records.ts'
import { fault, textOf, type State, type VideoJob } from './state.ts'

const VIDEO_BYTES = 300_000_000
const PART_BYTES = 5_242_880
const DAILY_VIDEOS = 25
const DAILY_BYTES = 10_737_418_240
/** How often a video is still being processed. */
const POLLS = 2
/** VIDEO_MAX_DURATION_MS in src/lib/constants.ts of bluesky-social/social-app, 2026-11. */
const VIDEO_SECONDS = 600

interface ServiceToken {
  readonly iss: string
  readonly aud: string
  readonly lxm: string
  /** Seconds since the epoch. */
  readonly exp: number
}

/** The video service: uploads in parts, processing, and limits (lexicons app.bsky.video.*). */
export class FakeVideos {
  readonly #state: State
  readonly #clock: Clock
  readonly #repos: FakeRepos

  constructor(state: State, clock: Clock, repos: FakeRepos) {
    this.#state = state
    this.#clock = clock
    this.#repos = repos
  }

  /** `com.atproto.server.getServiceAuth`. @param did of the caller */
  serviceAuth(query: URLSearchParams, did: string): FakeReply {
    const now = Math.floor(this.#clock.now() / 1_000)
    const exp = Number(query.get('exp') ?? now + 60)
    if (exp < now) return fault(400, 'BadExpiration', 'expiration is in past')
    if (exp - now > 3_600)
      return fault(400, 'BadExpiration', 'cannot request a token with an expiration more than an hour in the future')
    const token: ServiceToken = { iss: did, aud: query.get('aud') ?? '', lxm: query.get('lxm') ?? '', exp }
    const payload = Buffer.from(JSON.stringify(token)).toString('base64url')
    return json(200, { token: `e30.${payload}.${randomBytes(8).toString('base64url')}` })
  }

  handle(method: string, request: FakeRequest): FakeReply | undefined {
    const lxm = method === 'getUploadLimits' ? 'app.bsky.video.getUploadLimits' : 'com.atproto.repo.uploadBlob'
    const did = this.#caller(request, lxm)
    if (did === undefined) return fault(401, 'BadJwt', 'the token is not for this service or method')
    const { body, query } = request
    switch (method) {
      case 'getUploadLimits':
        return this.#limits(did)
      case 'startUpload':
        return this.#start(body, did)
      case 'uploadPart':
        return this.#part(request, this.#job(query.get('jobId'), did))
      case 'finishUpload':
        return this.#finish(textOf(body['jobId']), this.#job(textOf(body['jobId']), did))
      case 'getJobStatus':
        return this.#status(query.get('jobId') ?? '', this.#job(query.get('jobId'), did))
      default:
        return undefined
    }
  }

  #caller({ base, headers }: FakeRequest, lxm: string): string | undefined {
    const [, payload = ''] = (headers.authorization ?? '').replace(/^Bearer /, '').split('.')
    try {
      const token = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as ServiceToken
      const isValid =
        token.aud === `did:web:${new URL(base).hostname}` && token.lxm === lxm && token.exp * 1_000 > this.#clock.now()
      return isValid ? token.iss : undefined
    } catch {
      return undefined
    }
  }

  #job(id: string | null, did: string): VideoJob | undefined {
    const job = this.#state.jobs[id ?? '']
    return job?.did === did ? job : undefined
  }

  #limits(did: string): FakeReply {
    const own = Object.values(this.#state.jobs).filter((job) => job.did === did && job.pending !== null)
    const videos = DAILY_VIDEOS - own.length
    const bytes = DAILY_BYTES - own.reduce((sum, { size }) => sum + size, 0)
    if (videos > 0) return json(200, { canUpload: true, remainingDailyVideos: videos, remainingDailyBytes: bytes })
    return json(200, {
      canUpload: false,
      remainingDailyVideos: 0,
      remainingDailyBytes: bytes,
      error: 'DailyLimitExceeded',
      message: 'User has reached the daily limit of videos',
    })
  }

  #start(body: FakeRequest['body'], did: string): FakeReply {
    const size = Number(body['sizeBytes'])
    if (body['mimeType'] !== 'video/mp4') return fault(400, 'UnsupportedContentType', 'only video/mp4 is supported')
    if (size > VIDEO_BYTES) return fault(400, 'VideoTooLarge', 'the video is larger than 300 MB')
    const own = Object.values(this.#state.jobs).filter((job) => job.did === did)
    if (own.length >= DAILY_VIDEOS) return fault(400, 'DailyLimitExceeded', 'the daily limit of videos is reached')
    const jobId = `job-${(this.#state.next += 1)}`
    this.#state.jobs[jobId] = { did, size, mimeType: 'video/mp4', parts: {}, pending: null, isTooLong: false }
    return json(200, {
      jobId,
      partSizeBytes: PART_BYTES,
      partCount: Math.ceil(size / PART_BYTES),
      expiresAt: new Date(this.#clock.now() + 3_600_000).toISOString(),
    })
  }

  #part({ bytes, query }: FakeRequest, job: VideoJob | undefined): FakeReply {
    if (job === undefined) return fault(400, 'UploadNotFound', 'the job is unknown')
    if (job.pending !== null) return fault(400, 'UploadAlreadyCompleted', 'the upload has ended')
    const number = Number(query.get('partNumber'))
    const count = Math.ceil(job.size / PART_BYTES)
    if (!Number.isInteger(number) || number < 1 || number > count) {
      return fault(400, 'InvalidPartNumber', `the part must be between 1 and ${count}`)
    }
    const size = number === count ? job.size - (count - 1) * PART_BYTES : PART_BYTES
    if (bytes.length !== size) return fault(400, 'PartSizeMismatch', `the part must have ${size} bytes`)
    if (number === 1) job.isTooLong = breachOf(mediaFacts(bytes), { seconds: [0, VIDEO_SECONDS] }) !== undefined
    job.parts[number] = { size, cid: createHash('sha256').update(bytes).digest('hex') }
    return json(200, { partNumber: number, sizeBytes: size })
  }

  #finish(jobId: string, job: VideoJob | undefined): FakeReply {
    if (job === undefined) return fault(400, 'UploadNotFound', 'the job is unknown')
    const count = Math.ceil(job.size / PART_BYTES)
    const missing = Array.from({ length: count }, (_, index) => index + 1).filter((part) => !(part in job.parts))
    if (missing.length > 0) return fault(400, 'MissingParts', `missing parts: ${missing.join(', ')}`)
    job.pending ??= POLLS
    return json(200, { completedJobId: jobId, jobStatus: { jobId, did: job.did, state: 'JOB_STATE_CREATED' } })
  }

  #status(jobId: string, job: VideoJob | undefined): FakeReply {
    if (job === undefined) return fault(400, 'InvalidRequest', 'the job is unknown')
    const status = { jobId, did: job.did }
    if (job.pending === null || job.pending > 0) {
      if (job.pending !== null) job.pending -= 1
      return json(200, { jobStatus: { ...status, state: 'JOB_STATE_ENCODING', progress: 50 } })
    }
    if (job.isTooLong) {
      const failed = { state: 'JOB_STATE_FAILED', error: 'VideoTooLong', message: 'the video is longer than 3 minutes' }
      return json(200, { jobStatus: { ...status, ...failed } })
    }
    const content = Buffer.from(JSON.stringify(job.parts))
    job.blob ??= this.#repos.store(job.did, content, job.mimeType, job.size)
    return json(200, { jobStatus: { ...status, state: 'JOB_STATE_COMPLETED', blob: job.blob } })
  }
}
