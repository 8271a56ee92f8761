import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import { User } from '../../identity/users/index.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'

/** A secret link with which a calendar program reads the posts of a workspace, for one member. */
const CalendarFeed = defineEntity({
  name: 'CalendarFeed',
  tableName: 'calendar_feeds',
  uniques: [{ name: 'calendar_feeds_token_key', properties: ['tokenHash'] }],
  indexes: [
    { name: 'calendar_feeds_by_member', properties: ['workspaceId', 'userId', 'id'] },
    { name: 'calendar_feeds_by_user', properties: ['userId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: references(Workspace, { name: 'calendar_feeds_workspace_id_fkey', onDelete: 'cascade' }),
    /** Whose link it is. It shows what this member may see. */
    userId: references(User, { name: 'calendar_feeds_user_id_fkey', onDelete: 'cascade' }),
    name: p.text(),
    /** SHA-256 of the token, which is random and long. */
    tokenHash: p.text(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const calendarFeeds = table(CalendarFeed)
export type FeedRow = Row<typeof CalendarFeed>

export const feedEntities = [CalendarFeed]
