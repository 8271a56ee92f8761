import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { mediaView, type Media } from './views.ts'

/** A status that the server is to publish later. */
export interface ScheduledStatus {
  readonly id: string
  readonly person: string
  at: number
  /** The body of the request. */
  readonly params: Readonly<Record<string, unknown>>
  readonly media: readonly string[]
}

interface ScheduledState {
  scheduled: ScheduledStatus[]
  readonly media: Readonly<Record<string, Media>>
}

/** A status is scheduled at least this long before it is published (app/models/scheduled_status.rb, 4.3). */
const MIN_AHEAD_MS = 300_000
const MAX_SCHEDULED = 300
const NOT_FOUND = json(404, { error: 'Record not found' })

/** Scheduled statuses (docs.joinmastodon.org/methods/scheduled_statuses, 2026-11). */
export class Scheduled {
  readonly #state: ScheduledState
  readonly #clock: Clock

  constructor(state: ScheduledState, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  /** The time in a request. Undefined for none, and for one that has passed: such a status is published at once. */
  timeOf(value: unknown): number | undefined {
    const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
    return at > this.#clock.now() ? at : undefined
  }

  add(base: string, status: ScheduledStatus): FakeReply {
    const problem = this.#problemOf(status.at)
    if (problem !== undefined) return problem
    const own = this.#state.scheduled.filter(({ person }) => person === status.person)
    if (own.length >= MAX_SCHEDULED) {
      const error = `Validation failed: You have exceeded the limit of ${MAX_SCHEDULED} scheduled posts`
      return json(422, { error })
    }
    this.#state.scheduled.push(status)
    return json(200, this.#view(base, status))
  }

  handle({ base, body, method }: FakeRequest, person: string, id: string | undefined): FakeReply {
    const own = this.#state.scheduled.filter((one) => one.person === person)
    if (id === undefined)
      return json(
        200,
        own.toReversed().map((one) => this.#view(base, one)),
      )
    const status = own.find((one) => one.id === id)
    if (status === undefined) return NOT_FOUND
    if (method === 'DELETE') {
      this.#state.scheduled = this.#state.scheduled.filter((one) => one !== status)
      return json(200, {})
    }
    if (method === 'PUT') {
      const at = Date.parse(String(body['scheduled_at']))
      const problem = this.#problemOf(at)
      if (problem !== undefined) return problem
      status.at = at
    }
    return json(200, this.#view(base, status))
  }

  /** Takes out those whose time has come. */
  due(): readonly ScheduledStatus[] {
    const now = this.#clock.now()
    const due = this.#state.scheduled.filter(({ at }) => at <= now)
    if (due.length > 0) this.#state.scheduled = this.#state.scheduled.filter(({ at }) => at > now)
    return due.toSorted((one, other) => one.at - other.at)
  }

  #problemOf(at: number): FakeReply | undefined {
    return at >= this.#clock.now() + MIN_AHEAD_MS
      ? undefined
      : json(422, { error: 'Validation failed: Scheduled at The scheduled date must be in the future' })
  }

  #view(base: string, { at, id, media, params }: ScheduledStatus) {
    const { in_reply_to_id: replyTo, language, media_ids: ids, poll, sensitive, spoiler_text: spoiler } = params
    return {
      id,
      scheduled_at: new Date(at).toISOString(),
      params: {
        text: params['status'] ?? '',
        poll: poll ?? null,
        media_ids: ids ?? null,
        sensitive: sensitive ?? null,
        spoiler_text: spoiler ?? null,
        visibility: params['visibility'] ?? null,
        in_reply_to_id: replyTo ?? null,
        language: language ?? null,
        application_id: 1,
        idempotency: null,
        with_rate_limit: false,
        // The server publishes it without a time.
        scheduled_at: null,
      },
      media_attachments: media.flatMap((file) => {
        const found = this.#state.media[file]
        return found === undefined ? [] : [mediaView(base, found)]
      }),
    }
  }
}
