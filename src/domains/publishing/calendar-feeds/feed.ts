import { ICalCalendar, ICalEventStatus, type ICalEventData } from 'ical-generator'
import { cleanText } from '../../../tools/clean-text.ts'
import { MINUTE, SECOND } from '../../../core/clock.ts'
import type { Slices } from '../../../core/slices.ts'
import { postName, type FeedPost } from '../posts/index.ts'

export const ICS = 'text/calendar; charset=utf-8'

/** Calendars show a post as this long. Shorter events are hard to read. */
const LENGTH_MS = 15 * MINUTE
const MAX_NAME = 100
const MAX_TEXT = 1_000
/** Events that are written at once, between pauses of the main thread. */
const AT_ONCE = 20

const FIRST_EVENT = '\r\nBEGIN:VEVENT\r\n'
const END = '\r\nEND:VCALENDAR'

interface Calendar {
  readonly name: string
  /** IANA zone of the workspace. */
  readonly timezone: string
  /** The host of this server, for the ids of events. */
  readonly host: string
}

/** Writes posts as iCalendar (RFC 5545). Equal posts give equal text. */
export async function writeFeed(
  { host, name, timezone }: Calendar,
  posts: readonly FeedPost[],
  slices: Slices,
): Promise<string> {
  const events = posts.flatMap((post) => eventsOf(post, host))
  const write = (some: ICalEventData[]) =>
    new ICalCalendar({
      name: plain(name, MAX_NAME),
      prodId: { company: 'Crier', product: 'Posts', language: 'EN' },
      x: { 'X-WR-TIMEZONE': timezone },
      events: some,
    }).toString()
  const empty = write([])
  const parts = [empty.slice(0, empty.lastIndexOf(END))]
  for (let start = 0; start < events.length; start += AT_ONCE) {
    const text = write(events.slice(start, start + AT_ONCE))
    parts.push(text.slice(text.indexOf(FIRST_EVENT), text.lastIndexOf(END)))
    await slices.pause()
  }
  return `${parts.join('')}${END}\r\n`
}

/** The event of a post, and one for each account with its own time. */
function eventsOf(post: FeedPost, host: string): ICalEventData[] {
  const { scheduledAt, view } = post
  const own = view.targets.filter((target) => target.scheduledFor !== null && target.scheduledFor !== scheduledAt)
  const common = view.targets.filter((target) => !own.includes(target))
  const platforms = (targets: typeof own) => [...new Set(targets.map(({ platform }) => platform))]
  const events = own.map(({ accountId, platform, scheduledFor }) =>
    eventOf(post, `${post.id}-${accountId}@${host}`, scheduledFor ?? '', [platform]),
  )
  if (common.length === 0 || scheduledAt === null) return events
  return [eventOf(post, `${post.id}@${host}`, scheduledAt, platforms(common)), ...events]
}

function eventOf(post: FeedPost, id: string, at: string, platforms: readonly string[]): ICalEventData {
  const { createdAt, deletedAt, updatedAt, view } = post
  const changedAt = Math.max(Date.parse(updatedAt), Date.parse(deletedAt ?? updatedAt))
  const start = new Date(at)
  const isGone = deletedAt !== null || view.status === 'cancelled'
  const isFixed = ['scheduled', 'publishing', 'published', 'partial'].includes(view.status)
  return {
    id,
    // Grows with each change, because a post can change several times without a new version of its content.
    sequence: Math.max(0, Math.floor((changedAt - Date.parse(createdAt)) / SECOND)),
    start,
    end: new Date(start.getTime() + LENGTH_MS),
    // The time of the last change and not of the request, so that the text changes only with the posts.
    stamp: new Date(changedAt),
    created: new Date(createdAt),
    lastModified: new Date(changedAt),
    summary: plain(postName(view), MAX_NAME).replaceAll(/\s+/g, ' '),
    ...(deletedAt === null && { description: plain(view.content, MAX_TEXT) }),
    categories: platforms.map((name) => ({ name })),
    status: isGone ? ICalEventStatus.CANCELLED : isFixed ? ICalEventStatus.CONFIRMED : ICalEventStatus.TENTATIVE,
    x: { 'X-CRIER-STATUS': deletedAt === null ? view.status : 'deleted' },
  }
}

/** Text without what iCalendar cannot hold. */
function plain(text: string, most: number): string {
  const characters = Array.from(cleanText(text).replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n'))
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : characters.join('')
}
