import { Id, Input, ResourceBase, Text, Type, named, type Static } from '../../../core/schema.ts'
import { pageFields } from '../../../core/page.ts'

export const NewCalendarFeed = Input({
  workspaceId: Id,
  name: Text(1, 80, { description: 'Where you use the link, such as “Phone”, so that you know which one to revoke' }),
})
export type NewFeedData = Static<typeof NewCalendarFeed>

export const CalendarFeedView = named(
  'CalendarFeed',
  Type.Object({ ...ResourceBase, workspaceId: Id, name: Type.String() }),
)
export type FeedData = Static<typeof CalendarFeedView>

export const CreatedCalendarFeed = Type.Object({
  feed: CalendarFeedView,
  url: Type.String({ description: 'The secret link. It is shown only now' }),
})

export const FeedListQuery = Input({ workspaceId: Id, ...pageFields })
export const FeedPath = Input({ id: Id })
export const FeedTokenPath = Input({
  token: Text(20, 100, { description: 'The secret part of the link, with or without `.ics`' }),
})
