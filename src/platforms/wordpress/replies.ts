import { PlatformError, type ErrorKind } from '../error-kinds.ts'
import { kindOfStatus, type ReplyReader } from '../http/platform-http.ts'
import { TITLE } from './site.ts'

/**
 * Errors of the REST API: `{ "code": "rest_cannot_create", "message": "…", "data": { "status": 403 } }`, from the
 * controllers of WordPress 6.1 (wp-includes/rest-api/endpoints, read 2026-11). rest_upload_image_type_not_supported and
 * rest_comment_not_supported_post_type came with later versions. WordPress reports no budgets.
 */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  incorrect_password: 'auth_expired',
  invalid_username: 'auth_expired',
  invalid_email: 'auth_expired',
  rest_not_logged_in: 'auth_expired',
  application_passwords_disabled: 'auth_expired',
  application_passwords_disabled_for_user: 'auth_expired',
  rest_cannot_publish: 'account_restricted',
  rest_cannot_create: 'account_restricted',
  rest_cannot_edit: 'account_restricted',
  rest_cannot_edit_others: 'account_restricted',
  rest_cannot_delete: 'account_restricted',
  rest_user_cannot_delete_post: 'account_restricted',
  rest_cannot_assign_sticky: 'account_restricted',
  rest_cannot_assign_term: 'account_restricted',
  rest_cannot_read: 'account_restricted',
  rest_forbidden: 'account_restricted',
  rest_forbidden_context: 'account_restricted',
  rest_forbidden_status: 'account_restricted',
  rest_cannot_manage_application_passwords: 'account_restricted',
  rest_comment_login_required: 'account_restricted',
  rest_upload_unknown_error: 'media_processing',
  rest_upload_sideload_error: 'media_processing',
  rest_upload_file_error: 'media_processing',
  rest_upload_hash_mismatch: 'media_processing',
  rest_upload_image_type_not_supported: 'media_processing',
  rest_upload_no_data: 'validation',
  rest_upload_no_content_disposition: 'validation',
  rest_upload_file_too_big: 'validation',
  rest_upload_limited_space: 'quota_exhausted',
  rest_upload_user_quota_exceeded: 'quota_exhausted',
  comment_duplicate: 'duplicate_content',
  comment_flood: 'rate_limited',
  rest_comment_closed: 'unsupported',
  rest_comment_draft_post: 'unsupported',
  rest_comment_trash_post: 'unsupported',
  rest_comment_not_supported_post_type: 'unsupported',
  rest_post_invalid_id: 'validation',
  rest_comment_invalid_id: 'validation',
  // A value that is longer than its column. The insertion was rolled back.
  db_insert_error: 'validation',
  db_update_error: 'validation',
  rest_no_route: 'unsupported',
}

/** PHP drops a form that is larger than it takes. WordPress then misses the file, or the headers of a file as the body. */
const DROPPED =
  'The site got no file. It is probably larger than the web server takes (post_max_size of PHP). The administrator of the site can raise that limit.'

/** What a code means where WordPress itself does not know. */
const DETAILS: Readonly<Record<string, string>> = {
  rest_upload_no_data: DROPPED,
  rest_upload_no_content_disposition: DROPPED,
}

/** The codes with a status of 5xx that refuse the call. */
const REFUSED = /^(?:rest_upload_|rest_trash_not_supported|db_(?:insert|update)_error)/

/** Between two comments of a user who may not moderate (wp_throttle_comment_flood). */
const FLOOD_SECONDS = 15

export const reader: ReplyReader = {
  errorOf: ({ json, status }) => {
    if (status < 400) return undefined
    const { code, data, message } = (json ?? {}) as Failure
    if (typeof code !== 'string') return { kind: kindOfPage(status), detail: PAGES[status] }
    return {
      kind: isAnonymous(status, data) ? 'auth_expired' : (KINDS[code] ?? kindOfStatus(status)),
      code,
      detail:
        DETAILS[code] ?? [typeof message === 'string' ? message : code, ...Object.values(data?.params ?? {})].join(' '),
      ...(REFUSED.test(code) && { mayHaveHappened: false }),
      ...(code === 'comment_flood' && { retryAfter: FLOOD_SECONDS }),
      ...(code === 'rest_upload_file_too_big' && { mostBytes: statedLimit(message) }),
    }
  },
}

/**
 * The limit in the message of `rest_upload_file_too_big`, which only networks of sites send (check_upload_size()). The
 * message is translated, but always has the number of kilobytes.
 */
function statedLimit(message: unknown): number | undefined {
  const [kilobytes] = /\d+/.exec(String(message)) ?? []
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024
}

/** Web servers take 1 MB and more by default. The refusal of a smaller file has another reason. */
const MIN_LIMIT = 500_000

/**
 * The error of an upload, with what it says about the limit of the site. No field of the REST API gives this limit, not
 * even Site Health (wp-site-health/v1 of WordPress 6.1), so a refused file is all that is known of it.
 */
export function uploadError(error: unknown, bytes: number): unknown {
  if (!(error instanceof PlatformError) || error.mostBytes !== undefined || bytes < MIN_LIMIT) return error
  const { code, detail = '', httpStatus, kind, mayHaveHappened } = error
  // WordPress translates its messages, but not the names of PHP settings in them.
  const isTooLarge =
    httpStatus === 413 || DETAILS[code ?? ''] === DROPPED || /upload_max_filesize|post_max_size/.test(detail)
  if (!isTooLarge) return error
  return new PlatformError(kind, TITLE, {
    code,
    detail,
    httpStatus,
    mayHaveHappened,
    mostBytes: bytes - 1,
    cause: error,
  })
}

interface Failure {
  readonly code?: unknown
  readonly message?: unknown
  readonly data?: {
    readonly params?: Readonly<Record<string, unknown>>
    /** The errors of the parameters. */
    readonly details?: Readonly<Record<string, { readonly data?: { readonly status?: number } | null }>>
  }
}

/**
 * Whether the site has treated the caller as a visitor. A wrong or revoked password often has no specific error: the
 * call fails with whatever a visitor may not do, and with 401 where a user would get 403 (rest_authorization_required_code).
 */
function isAnonymous(status: number, data: Failure['data']): boolean {
  return status === 401 || Object.values(data?.details ?? {}).some((detail) => detail.data?.status === 401)
}

/** The kind of a reply that is not of the REST API: of the web server, a firewall, or a site under maintenance. */
function kindOfPage(status: number): ErrorKind {
  if (status === 413) return 'validation'
  return status === 403 ? 'account_restricted' : kindOfStatus(status)
}

/** What such replies mean. Their pages are too long to show. */
const PAGES: Readonly<Record<number, string>> = {
  401: 'The web server asks for its own password, before WordPress is reached.',
  403: 'The web server or a security plugin refuses the call.',
  404: 'The REST API was not found. A plugin may have switched it off, or the site has moved.',
  413: 'The web server does not take requests of this size. Its administrator can raise the limit.',
  500: 'The site failed with an error. Its administrator finds it in the log of PHP.',
  502: 'The web server of the site got no answer from PHP.',
  503: 'The site is under maintenance or overloaded.',
  504: 'The web server of the site got no answer from PHP in time.',
}
