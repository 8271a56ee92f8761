import { event } from '../../../../core/event.ts'
import { EXAMPLE } from '../../../../core/example-ids.ts'
import { Id, Nullable, Timestamp, Type } from '../../../../core/schema.ts'

export const postMoved = event({
  name: 'post.moved',
  summary: 'The rules of a time zone have changed, so a post goes out at another instant. Its clock time is the same',
  scope: 'posts:read',
  data: Type.Object({
    postId: Id,
    tzdataVersion: Type.String({ description: 'The version of the rules (tzdata) that moved it' }),
    times: Type.Array(
      Type.Object({
        accountId: Nullable(Type.String({ ...Id, description: 'Null for the time of the post itself' })),
        localTime: Type.String({ description: 'The clock time in `timezone`' }),
        timezone: Type.String({ description: 'IANA time zone' }),
        from: Timestamp,
        to: Timestamp,
      }),
      { description: 'What has moved' },
    ),
  }),
  example: {
    postId: EXAMPLE.postId,
    tzdataVersion: '2026b',
    times: [
      {
        accountId: EXAMPLE.accountId,
        localTime: '2026-11-27T12:00:00',
        timezone: 'Europe/Berlin',
        from: '2026-11-27T11:00:00.000Z',
        to: '2026-11-27T10:00:00.000Z',
      },
    ],
  },
})
