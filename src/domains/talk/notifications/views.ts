import type { NotificationType } from '../../../core/notification.ts'
import type { Sql } from '../../../core/sql.ts'
import { textsFor } from '../../../language/texts.ts'
import { findUsers, pictureUrl } from '../../identity/users/index.ts'
import { render, type Rendered } from './render.ts'
import type { NotificationData } from './schemas.ts'
import type { NotificationRow } from './tables.ts'

/** Actors that a notification keeps. */
export const ACTORS = 10

type Actor = NotificationData['actors'][number]

/** The users who have caused notifications, by id. */
export async function actorsOf(sql: Sql, rows: readonly NotificationRow[]): Promise<ReadonlyMap<string, Actor>> {
  const ids = [...new Set(rows.flatMap(({ actorIds }) => actorIds))]
  if (ids.length === 0) return new Map()
  const users = await findUsers(sql, ids, { columns: ['id', 'name', 'pictureId'] })
  return new Map(
    users.map(({ id, name, pictureId }) => [
      id,
      { _id: id, name, ...(pictureId !== null && { pictureUrl: pictureUrl(pictureId) }) },
    ]),
  )
}

/** The texts of a notification in a language. */
export function textsOf(row: NotificationRow, actors: ReadonlyMap<string, Actor>, language: string): Rendered {
  const names = row.actorIds.map((id) => actors.get(id)?.name ?? '')
  return render(textsFor(language), { ...row, actors: names, people: row.actorIds.length })
}

/** Views of notifications of types that this version knows. */
export function viewOf(
  row: NotificationRow,
  type: NotificationType | undefined,
  actors: ReadonlyMap<string, Actor>,
  language: string,
): NotificationData {
  const { text, title } = type === undefined ? { title: row.type, text: [] } : textsOf(row, actors, language)
  const resource = type?.resource?.(row.data)
  return {
    _id: row.id,
    type: row.type,
    kind: row.kind,
    title,
    text: text.join('\n\n'),
    workspaceId: row.workspaceId,
    resourceKind: resource?.kind ?? null,
    resourceId: resource?.id ?? null,
    actors: row.actorIds.flatMap((id) => actors.get(id) ?? []),
    count: row.count,
    readAt: row.readAt,
    createdAt: row.createdAt,
    updatedAt: row.latestAt,
  }
}
