import type { ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'

interface Answer {
  readonly ok: boolean
  readonly error_code?: number
  readonly description?: string
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number }
}

/** The code of the error of a group that has become a supergroup, before the new id. */
export const MIGRATED = 'migrate_to_chat_id:'
/** The code of the error of a message that the bot can no longer delete. */
export const TOO_OLD = 'message_too_old'
/** The code of the error of a message that does not exist. */
export const NOT_FOUND = 'message_not_found'
/** The code of the error of an edit that changes nothing. */
export const NOT_MODIFIED = 'message_not_modified'

/**
 * Errors of the Bot API: `{ ok: false, error_code, description, parameters }` (core.telegram.org/bots/api#making-requests
 * and #responseparameters, 2026-11). The API has no other codes than those of HTTP, and its texts may change. The texts
 * are those that the server of the API contains (github.com/tdlib/telegram-bot-api, telegram-bot-api/Client.cpp).
 */
export const reader: ReplyReader = {
  errorOf: ({ json, status }) => {
    const { description = '', error_code: code = status, ok, parameters = {} } = (json ?? {}) as Partial<Answer>
    if (status < 400 && ok !== false) return undefined
    const chat = parameters.migrate_to_chat_id
    const known = TEXTS.find(([pattern]) => pattern.test(description))
    return {
      kind: chat === undefined ? (known?.[1] ?? kindOf(code, description)) : 'validation',
      code: chat === undefined ? (known?.[2] ?? String(code)) : `${MIGRATED}${chat}`,
      detail: known?.[3] === undefined ? description : `${description}. ${known[3]}`,
      retryAfter: parameters.retry_after,
    }
  },
}

const TEXTS: readonly (readonly [text: RegExp, kind: ErrorKind, code?: string, advice?: string])[] = [
  [
    /message can't be deleted/i,
    'unsupported',
    TOO_OLD,
    'A bot can delete a message for 48 hours after it was sent. Delete it in Telegram.',
  ],
  [/message to (?:edit|delete) not found/i, 'unsupported', NOT_FOUND],
  [/message is not modified/i, 'validation', NOT_MODIFIED],
  [
    /not enough rights|have no rights|need administrator rights|CHAT_ADMIN_REQUIRED|CHAT_(?:WRITE|SEND_\w+)_FORBIDDEN/i,
    'scope_missing',
  ],
  [
    /bot was (?:kicked|blocked)|chat not found|bot is not a member|user is deactivated|chat (?:is|was) (?:deactivated|deleted)|CHANNEL_PRIVATE/i,
    'account_restricted',
  ],
  [
    /IMAGE_PROCESS_FAILED|PHOTO_INVALID|PHOTO_EXT_INVALID|PHOTO_CONTENT|VIDEO_CONTENT|wrong type of the web page|wrong file|failed to get HTTP URL content|MEDIA_INVALID/i,
    'media_processing',
  ],
]

function kindOf(code: number, description: string): ErrorKind {
  // A token that is not of the form of a token gets the answer of an unknown path.
  if (code === 401 || (code === 404 && description === 'Not Found')) return 'auth_expired'
  // Telegram limits the size of requests before it reads them.
  return code === 413 ? 'validation' : kindOfStatus(code)
}
