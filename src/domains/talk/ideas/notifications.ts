import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

export const ideaMentioned = notificationType({
  name: 'idea.mentioned',
  kind: 'mention',
  summary: 'A comment on an idea mentions you',
  scope: 'ideas:read',
  data: Type.Object({ ideaId: Type.String(), idea: Type.String(), comment: Type.String() }),
  example: { ideaId: EXAMPLE.ideaId, idea: 'Dark mode', comment: 'Shall we begin with it?' },
  resource: ({ ideaId }) => ({ kind: 'idea', id: ideaId }),
})
