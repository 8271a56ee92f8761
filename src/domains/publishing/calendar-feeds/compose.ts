import type { Services } from '../../../core/services.ts'
import type { Foundation } from '../../../foundation.ts'
import { FeedLinks } from './links.ts'
import { FeedReader } from './reader.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly calendarFeeds: ReturnType<typeof composeCalendarFeeds>['services']['calendarFeeds']
  }
}

/** Builds the services of the domain. */
export function composeCalendarFeeds(
  { clock, config, database: sql }: Foundation,
  { workspaces }: Pick<Services, 'workspaces'>,
) {
  const publicUrl = config.PUBLIC_URL
  const links = new FeedLinks(sql, clock, publicUrl)
  const reader = new FeedReader({ sql, clock, links, members: workspaces.memberships, publicUrl })
  return { services: { calendarFeeds: { links, reader } } }
}
